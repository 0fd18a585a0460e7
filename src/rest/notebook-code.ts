/** Cells of notebooks as programs: commands of IPython that cells often contain. Line numbers stay the same. */
import { PACKAGE_RUNTIME } from '../runtimes/program-files.ts';
import type { RuntimeName } from '../schema.ts';

/** `!pip install x` or `%pip install x`. */
const INSTALL = /^([ \t]*)[!%]\s{0,9}(pip3?[ \t]+install\b[^\n]{0,1000})$/gm;
/** `%matplotlib inline`: figures are always shown. */
const INLINE = /^%matplotlib\b[^\n]{0,100}$/gm;

/** `canInstall`: the sandbox adds packages on demand. Otherwise its packages are already there. */
export function cellProgram(code: string, runtime: RuntimeName, canInstall: boolean): string {
  if (runtime !== PACKAGE_RUNTIME) return code;
  return code
    .replaceAll(INLINE, 'pass')
    .replaceAll(INSTALL, (_, indent: string, command: string) =>
      canInstall ? `${indent}__import__('os').system(${JSON.stringify(command)})` : `${indent}pass`,
    );
}
