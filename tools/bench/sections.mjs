/** The sections of RESULTS.md: one per benchmark, between comments that name it. Each table states command and machine. */

/** Replaces the section of a benchmark, or adds it after the last one. The rest of the document stays as it is. */
export function replaceSection(document, name, text, machine) {
  const tables = text.replace(/^(## .*)$/gm, `$1\n\n\`npm run bench -- ${name}\` on ${machine}.`).trimEnd();
  const section = `<!-- benchmark: ${name} -->\n${tables}\n<!-- end -->\n`;
  const start = document.indexOf(`<!-- benchmark: ${name} -->\n`);
  const end = '<!-- end -->\n';
  if (start >= 0) {
    const after = document.indexOf(end, start) + end.length;
    return document.slice(0, start) + section + document.slice(after);
  }
  const last = document.lastIndexOf(end);
  const at = last < 0 ? document.length : last + end.length;
  return `${document.slice(0, at)}\n${section}${document.slice(at)}`;
}
