/** The languages of this installation as kernels of Jupyter. */

import type { Language, RuntimeName } from '@llm-wasm-sandbox/core/internal';
import { DEFAULT_RUNTIME, installedRuntimes, LANGUAGES } from '@llm-wasm-sandbox/core/internal';
import { HttpError, quoted } from '../server/http-error.ts';

export interface KernelLanguage extends Language {
  readonly runtime: RuntimeName;
}

/** The languages that are installed. */
const installed = (): KernelLanguage[] =>
  installedRuntimes().map((runtime) => ({ ...LANGUAGES[runtime], runtime }));

/** The language of a kernel, by the name of the kernel or of the language. Throws 404. */
export function kernelLanguage(name: string | null | undefined): KernelLanguage {
  const all = installed();
  const found = all.find((one) =>
    name === null || name === undefined || name === ''
      ? one.runtime === DEFAULT_RUNTIME
      : one.notebook.kernel === name || one.name === name,
  );
  if (found !== undefined) return found;
  const known = all.map((one) => one.notebook.kernel).join(', ');
  throw new HttpError(404, `There is no kernel ${quoted(String(name))}. Use one of ${known}.`);
}

export function kernelSpecs() {
  const specs = installed().map(({ notebook: { kernel }, name, title }) => {
    const spec = {
      argv: [],
      display_name: `${title} (sandbox)`,
      language: name,
      interrupt_mode: 'message',
      env: {},
      metadata: {},
    };
    return [kernel, { name: kernel, spec, resources: {} }] as const;
  });
  return { default: kernelLanguage(undefined).notebook.kernel, kernelspecs: Object.fromEntries(specs) };
}

/** The reply to a request for information about the kernel. */
export const kernelInfo = (
  { name, title, engine, version, extensions, notebook }: KernelLanguage,
  release: string,
) => ({
  status: 'ok',
  protocol_version: '5.4',
  implementation: 'llm-wasm-sandbox',
  implementation_version: release,
  language_info: {
    name,
    version,
    mimetype: notebook.mimeType,
    file_extension: extensions[0],
    pygments_lexer: name,
    codemirror_mode: name,
    nbconvert_exporter: name,
  },
  banner: `${title} ${version} (${engine}) in a WebAssembly sandbox`,
  help_links: [],
  debugger: false,
  supported_features: [],
});
