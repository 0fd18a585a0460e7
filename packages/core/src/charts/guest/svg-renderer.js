/**
 * Vega's renderer for SVG text, which takes time proportional to its length. Vega appends every element to one string, which
 * QuickJS copies each time: the time would grow with the square of the number of points.
 */
import { SVGStringRenderer } from 'vega';

const PLACEHOLDER = 'marks-of-the-chart';

const innerText = (value) =>
  String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const SPECIAL = /[&<>"\t\n\r]/;
const attributeText = (value) => {
  const text = String(value);
  if (!SPECIAL.test(text)) return text;
  return innerText(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\t', '&#x9;')
    .replaceAll('\n', '&#xA;')
    .replaceAll('\r', '&#xD;');
};

/** Collects markup with the interface of Vega's own collector. */
class Markup {
  parts = [];
  #open = [];
  /** Whether the last start tag lacks its end. */
  #isPending = false;

  #endTag() {
    if (this.#isPending) this.parts.push('>');
    this.#isPending = false;
  }

  open(tag, ...attributes) {
    this.#endTag();
    this.#open.push(tag);
    let text = `<${tag}`;
    for (const set of attributes)
      for (const name in set)
        if (set[name] !== null && set[name] !== undefined) text += ` ${name}="${attributeText(set[name])}"`;
    this.parts.push(text);
    this.#isPending = true;
    return this;
  }

  text(value) {
    const text = innerText(value);
    if (text === '') return this;
    this.#endTag();
    this.parts.push(text);
    return this;
  }

  close() {
    const tag = this.#open.pop();
    this.parts.push(this.#isPending ? '/>' : `</${tag}>`);
    this.#isPending = false;
    return this;
  }
}

export class SvgRenderer extends SVGStringRenderer {
  #marks;

  mark(markup, scene) {
    if (markup instanceof Markup) return super.mark(markup, scene);
    this.#marks = new Markup();
    super.mark(this.#marks, scene);
    return markup.open(PLACEHOLDER).close();
  }

  svg() {
    return super.svg().replace(`<${PLACEHOLDER}/>`, () => this.#marks.parts.join(''));
  }
}
