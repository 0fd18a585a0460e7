/**
 * The program that `run` runs: a file with the modules that it imports from its own folder, or a folder. Programs may
 * be untrusted, so only regular files below the folder are read: no links, which may lead out of it, and no hidden files.
 */
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  LANGUAGE_RUNTIMES,
  LANGUAGES,
  type LanguageName,
  languageOfFile,
  programName,
  RUNTIME_NAMES,
} from '@llm-wasm-sandbox/core/internal';
import { UsageError } from './exit-codes.ts';
import { MAX_PROGRAM_BYTES, readLocalFile, readProgramText } from './local-files.ts';

export interface LocalProgram {
  readonly code: string;
  /** Its name in stack traces; undefined for the default. */
  readonly fileName?: string | undefined;
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
  if (path === '-') return { code: readProgramText(path), language, files: {} };
  if (isFolder(path)) return readFolder(path, language);
  const code = readProgramText(path);
  const found = language ?? languageOfFile(path);
  const files = found === undefined ? {} : readModules(path, code, found);
  return { code, fileName: programNameOf(path), language: found, files };
}

/** The name of a file if a program can have it. Others, such as names with spaces, are rare and not shown. */
const programNameOf = (path: string) => programName.safeParse(basename(path)).data;

/** The files that the flag `--file` names, by their path in the workspace. */
export function readFiles(paths: readonly string[]): Record<string, Uint8Array> {
  return Object.fromEntries(paths.map((path) => [basename(path), readLocalFile(path)]));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
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
    if (!isModule(root, path)) return;
    const bytes = readLocalFile(join(root, path));
    files.set(path, bytes);
    if (files.size > MAX_FILES) throw tooManyFiles(main);
    for (const imported of localImports(bytes.toString('utf8'), path)) add(imported);
  };
  for (const imported of localImports(code, basename(main))) add(imported);
  return Object.fromEntries(files);
}

/** Whether a path names a file that is not hidden, not reached through a link, and not too large for a module. */
function isModule(root: string, path: string): boolean {
  const parts = path.split('/');
  if (parts.some((part) => part.startsWith('.'))) return false;
  return parts.every((_, i) => {
    const status = lstatSync(join(root, ...parts.slice(0, i + 1)), { throwIfNoEntry: false });
    if (i < parts.length - 1) return status?.isDirectory() === true;
    return status?.isFile() === true && status.size <= MAX_PROGRAM_BYTES;
  });
}

// ---- a folder ----

function readFolder(folder: string, language: LanguageName | undefined): LocalProgram {
  const names = RUNTIME_NAMES.flatMap((runtime) => LANGUAGES[runtime].entryFiles)
    .map((file) => ({ file, language: languageOfFile(file)! }))
    .filter((entry) => language === undefined || entry.language === language);
  const paths = filesBelow(folder);
  const present = names.filter(({ file }) => paths.includes(file));
  const entry = present[0];
  if (entry === undefined) {
    const wanted = names.map(({ file }) => file).join(', ');
    throw new UsageError(`Cannot find a program in ${folder}: it contains none of these files: ${wanted}.`);
  }
  const other = present.find(({ language: found }) => found !== entry.language);
  if (other !== undefined) {
    const flag = `--language ${entry.language} or --language ${other.language}`;
    throw new UsageError(`${folder} has both ${entry.file} and ${other.file}: add ${flag}.`);
  }
  const files = Object.fromEntries(paths.map((path) => [path, readLocalFile(join(folder, path))]));
  const code = readProgramText(join(folder, entry.file));
  return { code, fileName: programNameOf(entry.file), language: entry.language, files };
}

/** The regular files below a folder, except hidden ones and those that other tools installed. */
function filesBelow(root: string): string[] {
  const found: string[] = [];
  const folders = [''];
  for (const folder of folders) {
    for (const name of inspect(root, () => readdirSync(join(root, folder)))) {
      if (name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      const path = folder === '' ? name : `${folder}/${name}`;
      const status = inspect(root, () => lstatSync(join(root, path)));
      if (status.isDirectory()) folders.push(path);
      else if (status.isFile()) found.push(path);
      if (found.length + folders.length > MAX_FILES) throw tooManyFiles(root);
    }
  }
  return found;
}

/** The result of a function that reads `folder`. Its error becomes one of the command line. */
function inspect<T>(folder: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UsageError(`Cannot read ${folder}: ${(cause as Error).message}`);
  }
}

const tooManyFiles = (path: string) =>
  new UsageError(
    `Cannot copy ${path} into the sandbox: it needs more than ${MAX_FILES} files. Use --mount for data.`,
  );
