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

/** Browsers that know trusted types parse text only through this policy. */
const trusted = (
  globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createHTML(text: string): string } };
  }
).trustedTypes?.createPolicy('guest-html', { createHTML: (text: string) => text });
const trust = (html: string) => trusted?.createHTML(html) ?? html;

/** The document to show in the frame. */
export function guestDocument(html: string): string {
  const { documentElement } = new DOMParser().parseFromString(trust(html), 'text/html');
  return trust(START + copy(documentElement));
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
  if (node.namespaceURI === SVG && name === 'svg')
    return `<img${attributesOf(node)} src="${svgAddress(new XMLSerializer().serializeToString(node))}">`;
  if (name === 'style') return `<style>${(node.textContent ?? '').replaceAll('<', '')}</style>`;
  if (!ELEMENTS.has(name)) return '';
  const start = `<${name}${attributesOf(node)}>`;
  return WITHOUT_END.has(name) ? start : `${start}${[...node.childNodes].map(copy).join('')}</${name}>`;
}

const attributesOf = (element: Element) =>
  [...element.attributes]
    .filter(({ name, value }) => ATTRIBUTES.has(name) || (name === 'src' && /^data:image\//i.test(value)))
    .map(({ name, value }) => ` ${name}="${escapeText(value)}"`)
    .join('');

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeText = (text: string) => text.replaceAll(/[&<>"]/g, (char) => ESCAPES[char]!);
