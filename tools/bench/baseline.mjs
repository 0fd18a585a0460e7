/** Another build of this project to compare with. `--baseline=FOLDER` names the folder of a checkout that is built. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const FLAG = '--baseline=';
const given = process.argv.find((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);

/** The library of a checkout that is built. */
export const libraryOf = (checkout) =>
  import(pathToFileURL(createRequire(join(checkout, 'package.json')).resolve('llm-wasm-sandbox')).href);

/** The library and the version of the other build; undefined if none is given. */
export async function loadBaseline() {
  if (given === undefined) return undefined;
  const folder = resolve(given);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { version, library: await libraryOf(folder) };
}

/** The sentence about the baseline in the note of a table, which is empty without one. */
export const baselineNote = (baseline) =>
  baseline === undefined ? '' : ` The baseline is a build of version ${baseline.version}.`;
