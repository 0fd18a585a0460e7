/**
 * HTML that a program displays, as a document for a frame on an opaque origin without scripts. The policy of the document
 * forbids all requests. Browsers contact servers even so, for links with rel=preconnect and before they refuse a frame.
 * Therefore only the elements and attributes listed here are kept. All of the text is escaped, so that the result has no
 * other tags, whatever state a parser is in.
 */

const ELEMENTS = new Set(
  [
    'html head body main section article aside header footer nav address div p pre blockquote hr br wbr center',
    'h1 h2 h3 h4 h5 h6 ul ol li dl dt dd figure figcaption details summary img label meter progress output',
    'table caption colgroup col thead tbody tfoot tr th td',
    'a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rp rt ruby s samp small span strike strong',
    'sub sup time tt u var',
  ].flatMap((names) => names.split(' ')),
);
const WITHOUT_END = new Set(['br', 'col', 'hr', 'img', 'wbr']);
const ATTRIBUTES = new Set(
  [
    'align alt bgcolor border cellpadding cellspacing class color colspan dir headers height id lang max min open',
    'reversed rowspan scope span start style title valign value width',
  ].flatMap((names) => names.split(' ')),
);
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const START = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">`;
const SVG = 'http://www.w3.org/2000/svg';

/**
 * What is read of one document; the rest is left out. The time that a parser takes can grow with the square of the length, and so
 * can the number of elements that it makes.
 */
const MAX_ELEMENTS = 20_000;
const MAX_PARSE_MS = 1000;
const CHUNK = 512;
/** Elements that a browser draws for an image: as many as it has, and again for each reference to them. */
const MAX_DRAWN = 1_000_000;
/** Elements within elements, and references from one to the next. */
const MAX_LEVELS = 1000;

/** Browsers that know trusted types parse text only through this policy. */
const trusted = (
  globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createHTML(text: string): string } };
  }
).trustedTypes?.createPolicy('guest-html', { createHTML: (text: string) => text });
const trust = (html: string) => trusted?.createHTML(html) ?? html;

/** The document to show in the frame. */
export function guestDocument(html: string): string {
  const parsed = document.implementation.createHTMLDocument('');
  const elements = parsed.getElementsByTagName('*');
  const end = performance.now() + MAX_PARSE_MS;
  let at = 0;
  parsed.open();
  for (; at < html.length && elements.length <= MAX_ELEMENTS && performance.now() < end; at += CHUNK)
    parsed.write(trust(html.slice(at, at + CHUNK)));
  parsed.close();
  return trust(START + copy(parsed.documentElement) + (at < html.length ? '<p>…</p>' : ''));
}

/** Whether a browser draws too many elements for an SVG image, because its elements refer to others, over and over. */
export const isTooLargeToDraw = (svg: string) => drawnElements(svg, 0) > MAX_DRAWN;

function drawnElements(svg: string, level: number): number {
  const root = new DOMParser().parseFromString(trust(svg), 'image/svg+xml').documentElement;
  const byId = new Map([...root.querySelectorAll('[id]')].map((one) => [one.id, one]));
  const counts = new Map<Element | undefined, number>([[undefined, 0]]);
  const countOf = (element: Element | undefined, level: number): number => {
    const known = counts.get(element);
    if (known !== undefined || element === undefined) return known ?? 0;
    if (level > MAX_LEVELS) return Number.POSITIVE_INFINITY;
    // An element that refers to itself is not drawn.
    counts.set(element, 0);
    let count = 1;
    for (const child of element.children) count += countOf(child, level + 1);
    for (const { value } of element.attributes) {
      for (const [, id] of value.matchAll(/#([^\s"')]+)/g)) count += countOf(byId.get(id!), level + 1);
      const inner = svgAt(value);
      if (inner !== undefined) count += drawnElements(inner, level + 1);
    }
    counts.set(element, count);
    return count;
  };
  return countOf(root, level);
}

/** The SVG in a data address; text that is no SVG if it cannot be read. */
function svgAt(address: string): string | undefined {
  const [, parameters, body] = /^\s*data:image\/svg\+xml([^,]*),(.*)$/is.exec(address) ?? [];
  if (parameters === undefined || body === undefined) return undefined;
  try {
    const text = decodeURIComponent(body);
    return /;\s*base64/i.test(parameters) ? atob(text) : text;
  } catch {
    return '';
  }
}

/** The address of an SVG image. Images load nothing and run no scripts. */
export function svgAddress(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg.replaceAll(/\p{Surrogate}/gu, '\ufffd'))}`;
}

/** An element outside the list is left out with its contents. */
function copy(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return escapeText(node.nodeValue ?? '');
  if (!(node instanceof Element)) return '';
  const name = node.localName;
  if (node.namespaceURI === SVG && name === 'svg') {
    const svg = new XMLSerializer().serializeToString(node);
    return isTooLargeToDraw(svg) ? '' : `<img${attributesOf(node)} src="${svgAddress(svg)}">`;
  }
  if (name === 'style') return `<style>${(node.textContent ?? '').replaceAll('<', '')}</style>`;
  if (!ELEMENTS.has(name)) return '';
  const start = `<${name}${attributesOf(node)}>`;
  return WITHOUT_END.has(name) ? start : `${start}${[...node.childNodes].map(copy).join('')}</${name}>`;
}

const isImage = (address: string) =>
  /^data:image\//i.test(address) && !isTooLargeToDraw(svgAt(address) ?? '<svg/>');

const attributesOf = (element: Element) =>
  [...element.attributes]
    .filter(({ name, value }) => ATTRIBUTES.has(name) || (name === 'src' && isImage(value)))
    .map(({ name, value }) => ` ${name}="${escapeText(value)}"`)
    .join('');

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeText = (text: string) => text.replaceAll(/[&<>"]/g, (char) => ESCAPES[char]!);
