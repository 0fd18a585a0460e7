/** The folders with prepared C programs: those of this installation, and the one of the optional package with bash. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installedFile } from '../../host/install-folder.ts';

export const BASH_PACKAGE = '@llm-wasm-sandbox/bash';
/** The commands that the package provides. */
export const SHELL_COMMANDS = ['sh', 'bash'];

const isReady = (folder: string) => existsSync(join(folder, 'programs.json'));

/** The folder of the package, if it is installed. */
function packageFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${BASH_PACKAGE}/package.json`));
  } catch {
    return undefined;
  }
}

/** The folder with what is built from bash; undefined if bash is not installed. A checkout has it beside the other programs. */
export function bashFolder(): string | undefined {
  const own = installedFile('guests/bash');
  if (isReady(own)) return own;
  const folder = packageFolder();
  return folder === undefined ? undefined : join(folder, 'built');
}

/** The installed packages from which threads read programs. */
export const optionalPackages = (): string[] => (packageFolder() === undefined ? [] : [BASH_PACKAGE]);

export function programFolders(): string[] {
  const bash = bashFolder();
  return [installedFile('guests/programs'), ...(bash === undefined ? [] : [bash])];
}
