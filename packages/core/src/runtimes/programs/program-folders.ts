/** The folders with prepared C programs: those of this installation, and the one of the optional package with bash. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installedFile } from '../../host/install-folder.ts';
import { packageFolder } from '../../host/own-packages.ts';
import { installedParts } from '../../host/parts.ts';

export const BASH_PACKAGE = '@llm-wasm-sandbox/bash';
/** The commands that the package provides. */
export const SHELL_COMMANDS = ['sh', 'bash'];
/** The programs of this installation, relative to the folder of the compiled code. */
export const OWN_PROGRAMS = 'guests/programs';

/** The folder with what is built from bash; undefined if bash is not installed. A checkout has it beside the other programs. */
export function bashFolder(): string | undefined {
  const own = installedFile('guests/bash');
  if (existsSync(join(own, 'programs.json'))) return own;
  const folder = packageFolder(BASH_PACKAGE);
  return folder === undefined ? undefined : join(folder, 'built');
}

/** The installed packages from which threads read files. */
export const optionalPackages = (): string[] => [
  ...installedParts(),
  ...(packageFolder(BASH_PACKAGE) === undefined ? [] : [BASH_PACKAGE]),
];

export function programFolders(): string[] {
  const bash = bashFolder();
  return [installedFile(OWN_PROGRAMS), ...(bash === undefined ? [] : [bash])];
}
