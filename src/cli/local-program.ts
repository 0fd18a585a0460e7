/**
 * The program that `run` runs: a file with the modules next to it that it imports, or a folder. Only files below the
 * folder of the program are read, and of these only what the program imports or the whole folder that was named.
 */
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { LANGUAGES } from '../runtimes/languages.ts';
import { languageOfExtension } from '../runtimes/sources.ts';
import { LANGUAGE_RUNTIMES, type LanguageName, RUNTIME_NAMES } from '../schema.ts';
import { UsageError } from './exit-codes.ts';
import { readLocalFile } from './local-files.ts';

export interface LocalProgram {
  readonly code: string;
  /** Undefined if neither the flags nor a file name determine it. */
  readonly language: LanguageName | undefined;
  /** Files to copy into the workspace, by their path there. */
  readonly files: Readonly<Record<string, Uint8Array>>;
}

/** Folders that hold nothing a program needs here. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '__pycache__', 'venv']);
const MAX_FILES = 10_000;

/** Reads the program at a path, or from standard input for "-". */
export function readProgram(path: string, language: LanguageName | undefined): LocalProgram {
  if (path === '-') return { code: readLocalFile(path).toString('utf8'), language, files: {} };
  if (isKind(path, 'isDirectory')) return readFolder(path, language);
  const code = readLocalFile(path).toString('utf8');
  const found = language ?? languageOfFile(path);
  return { code, language: found, files: found === undefined ? {} : readModules(path, code, found) };
}

/** The files that the flag `--file` names, by their path in the workspace. */
export function readFiles(paths: readonly string[]): Record<string, Uint8Array> {
  return Object.fromEntries(paths.map((path) => [basename(path), readLocalFile(path)]));
}

const languageOfFile = (name: string) => languageOfExtension(extname(name).toLowerCase());

/** Whether a path names a file or folder that can be accessed. */
function isKind(path: string, kind: 'isFile' | 'isDirectory'): boolean {
  try {
    return statSync(path)[kind]();
  } catch {
    return false;
  }
}

// ---- the modules of a file ----

/** The files that the program imports, directly or through other files. */
function readModules(main: string, code: string, language: LanguageName): Record<string, Uint8Array> {
  const root = dirname(main);
  const { localImports } = LANGUAGES[LANGUAGE_RUNTIMES[language]];
  const files = new Map<string, Uint8Array>();
  const tried = new Set<string>();
  const add = (path: string) => {
    if (tried.has(path)) return;
    tried.add(path);
    const bytes = readRegularFile(join(root, path));
    if (bytes === undefined) return;
    files.set(path, bytes);
    if (files.size > MAX_FILES) throw tooManyFiles(main);
    for (const imported of localImports(bytes.toString('utf8'), path)) add(imported);
  };
  for (const imported of localImports(code, basename(main))) add(imported);
  return Object.fromEntries(files);
}

function readRegularFile(path: string): Buffer | undefined {
  if (!isKind(path, 'isFile')) return undefined;
  return readFileSync(path);
}

// ---- a folder ----

function readFolder(folder: string, language: LanguageName | undefined): LocalProgram {
  const names = RUNTIME_NAMES.flatMap((runtime) => LANGUAGES[runtime].entryFiles)
    .map((file) => ({ file, language: languageOfFile(file)! }))
    .filter((entry) => language === undefined || entry.language === language);
  const present = names.filter(({ file }) => isKind(join(folder, file), 'isFile'));
  const entry = present[0];
  if (entry === undefined) {
    const wanted = names.map(({ file }) => file).join(', ');
    throw new UsageError(`Cannot find a program in ${folder}: it has none of ${wanted}.`);
  }
  const other = present.find(({ language: found }) => found !== entry.language);
  if (other !== undefined) {
    const flag = `--language ${entry.language} or --language ${other.language}`;
    throw new UsageError(`${folder} has both ${entry.file} and ${other.file}: add ${flag}.`);
  }
  const files: Record<string, Uint8Array> = {};
  for (const path of filesBelow(folder)) files[path] = readLocalFile(join(folder, path));
  return { code: Buffer.from(files[entry.file]!).toString('utf8'), language: entry.language, files };
}

/** The regular files below a folder, except hidden ones and those that other tools installed. */
function filesBelow(root: string): string[] {
  const found: string[] = [];
  const folders = [''];
  for (const folder of folders) {
    for (const name of readdirSync(join(root, folder))) {
      if (name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      const path = folder === '' ? name : `${folder}/${name}`;
      const status = lstatSync(join(root, path));
      if (status.isDirectory()) folders.push(path);
      else if (status.isFile()) found.push(path);
      if (found.length + folders.length > MAX_FILES) throw tooManyFiles(root);
    }
  }
  return found;
}

const tooManyFiles = (path: string) =>
  new UsageError(`${path} has more than ${MAX_FILES} files. Mount its data with --mount instead.`);
