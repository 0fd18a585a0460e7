/** Reads the failing programs: a heading, the program, and what its guidance must and must not contain. */
import { readFileSync } from 'node:fs';
import { CAUSES } from './causes.mjs';

const LANGUAGES = ['python', 'javascript'];
const FIELDS = new Set(
  'cause types line names fix forbidden files stdin earlier fuel_budget timeout_seconds'.split(' '),
);
const PROGRAM = /^## (.+)\n\n(`{3,})(\w+)\n([\s\S]*?)\n\2\n\n```json\n([\s\S]*?)\n```$/gm;

const fileContents = (value) => (typeof value === 'string' ? value : Buffer.from(value.base64, 'base64'));
const pattern = (text) => new RegExp(text, 'i');

function parse(language, name, code, json) {
  const expected = JSON.parse(json);
  const unknown = Object.keys(expected).filter((key) => !FIELDS.has(key));
  if (unknown.length > 0) throw new Error(`${name}: unknown field ${unknown.join(', ')}`);
  const cause = CAUSES[expected.cause];
  if (cause === undefined) throw new Error(`${name}: unknown cause ${expected.cause}`);
  const { fuel_budget, timeout_seconds, stdin } = expected;
  return {
    language,
    name,
    code,
    earlier: expected.earlier ?? [],
    options: {
      files: Object.fromEntries(
        Object.entries(expected.files ?? {}).map(([path, value]) => [path, fileContents(value)]),
      ),
      ...(fuel_budget !== undefined && { fuel_budget }),
      ...(timeout_seconds !== undefined && { timeout_seconds }),
      ...(stdin !== undefined && { stdin }),
    },
    cause: expected.cause,
    types: expected.types ?? cause.types,
    says: cause.says,
    /** Lines that the guidance may name; empty if the interpreter knows no line for this failure. */
    lines: expected.line === null ? [] : [expected.line].flat(),
    names: expected.names,
    fix: expected.fix.map(pattern),
    forbidden: [...(cause.forbidden ?? []), ...(expected.forbidden ?? []).map(pattern)],
  };
}

/** The programs of one language, or of both, in this folder or in one below. */
export function failingPrograms(languages = LANGUAGES, folder = '') {
  return languages.flatMap((language) => {
    const text = readFileSync(new URL(`${folder}${language}.md`, import.meta.url), 'utf8');
    const programs = [...text.matchAll(PROGRAM)];
    const headings = [...text.matchAll(/^## (?!#)/gm)].length;
    if (programs.length !== headings)
      throw new Error(`${language}.md: ${headings} headings, ${programs.length} programs`);
    return programs.map(([, name, , , code, json]) => parse(language, name, code, json));
  });
}
