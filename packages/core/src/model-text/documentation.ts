/** The documents of the package as resources: `docs://PYTHON_CAPABILITIES/files` is one section of one document. */
import { relatedDocs } from '../analysis/build-guidance.ts';
import { readDocument } from '../host/documentation-files.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';

const SCHEME = 'docs://';
/** `docs/PYTHON_CAPABILITIES.md#files`, the form of links in guidance. */
const LINK = /^docs\/(\w+)\.md#([\w-]+)$/;

interface Section {
  readonly title: string;
  readonly level: number;
  /** With its heading and its subsections. */
  readonly text: string;
}

/** The anchor of a heading, as code hosts derive it. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

/** The sections of a document by anchor. A heading in a code block is not a heading. */
function sectionsOf(document: string): Map<string, Section> {
  const lines = document.replaceAll(/^<!--.*-->\n/gm, '').split('\n');
  const headings: { level: number; title: string; line: number }[] = [];
  let isCode = false;
  for (const [line, text] of lines.entries()) {
    if (text.startsWith('```')) isCode = !isCode;
    const found = isCode ? null : /^(#{1,6}) (.+)$/.exec(text);
    if (found !== null) headings.push({ level: found[1]!.length, title: found[2]!, line });
  }
  return new Map(
    headings.map(({ level, title, line }, i) => {
      const next = headings.slice(i + 1).find((other) => other.level <= level);
      const text = lines.slice(line, next?.line).join('\n').trim();
      return [anchorOf(title), { level, title, text }];
    }),
  );
}

/** Documents that exist, by their name in lower case. */
const cache = new Map<string, Map<string, Section>>();

function readSections(document: string): Map<string, Section> | undefined {
  const name = document.toLowerCase();
  const cached = cache.get(name);
  if (cached !== undefined) return cached;
  const text = readDocument(name);
  if (text === undefined) return undefined;
  const sections = sectionsOf(text);
  cache.set(name, sections);
  return sections;
}

export const isDocsUri = (uri: string) => uri.startsWith(SCHEME);

/** The section that a URI names, as Markdown, or undefined if it does not exist. */
export function readDocsUri(uri: string): string | undefined {
  const [document = '', anchor = '', ...rest] = uri.slice(SCHEME.length).split('/');
  return isDocsUri(uri) && rest.length === 0 ? readSections(document)?.get(anchor)?.text : undefined;
}

/** The resource of a link in guidance. A link that is not to a section of a document is returned unchanged. */
export function docsUri(link: string): string {
  const [, document, anchor] = LINK.exec(link) ?? [];
  if (document === undefined || anchor === undefined) return link;
  return readSections(document)?.has(anchor) ? `${SCHEME}${document}/${anchor}` : link;
}

/** The sections that guidance refers to. */
export function listDocs(): { uri: string; name: string; mimeType: string; size: number }[] {
  const links = Object.values(LANGUAGES).flatMap((language) =>
    language.rules.flatMap((rule) => relatedDocs(rule, language)),
  );
  return [...new Set(links)].map(docsUri).flatMap((uri) => {
    const text = readDocsUri(uri);
    if (text === undefined) return [];
    const name = text.slice(0, text.indexOf('\n')).replace(/^#+ /, '');
    const size = Buffer.byteLength(text);
    return [{ uri, name: `${uri.split('/')[2]}: ${name}`, mimeType: 'text/markdown', size }];
  });
}
