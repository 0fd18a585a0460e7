/**
 * The read-only files of a JavaScript guest: the boot script as one text, and the vendored packages as bytecode, so that
 * no program pays for compiling them. The guest's own compiler makes the bytecode.
 */
import { fileURLToPath } from 'node:url';
import type { Guest } from '../../engine/guest.ts';
import type { Entry } from '../../fs/entries.ts';
import { type ModuleSource, packageModules } from '../../packages/bundle-javascript.ts';
import type { MissingPackage } from '../../packages/catalog.ts';
import { toEntries } from '../../packages/package-file.ts';
import type { BuildGuest, Layer } from '../runtime.ts';
import { BOOT_FILE, boot, LAYER } from './boot.ts';
import { property, readText, withText } from './quickjs-api.ts';
import { BYTECODE_SUFFIX, PACKAGES } from './syscalls/package-loader.ts';

/** One date for all files of a layer, so that equal inputs make equal layers. */
const LAYER_TIME_MS = Date.UTC(2026, 0, 1);
const MODULE = 1;
/** Bytecode without the text it was made from. */
const STRIP_SOURCE = 16;

/** The boot script and everything it imports as one function of the door. esbuild is there at build time only. */
async function bootSource(): Promise<string> {
  const { build } = await import('esbuild');
  const result = await build({
    entryPoints: [fileURLToPath(new URL('./guest/boot.js', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'boot',
    target: 'es2024',
    legalComments: 'none',
    minifyWhitespace: true,
    minifySyntax: true,
    banner: { js: '(function (__door) {' },
    footer: { js: 'return boot; })' },
  });
  return result.outputFiles[0]!.text;
}

/** Compiles a module in a booted guest, where what it imports is known. */
function compile(guest: Guest, { name, source }: ModuleSource): Uint8Array {
  const length = guest.call('wasm_malloc', 4);
  const pointer = withText(guest, source, (code, size) =>
    withText(guest, name, (file) =>
      guest.call('qjs_compile', code, size, file, MODULE, STRIP_SOURCE, length),
    ),
  );
  if (pointer === 0) {
    const error = guest.call('qjs_get_exception');
    const stack = readText(guest, property(guest, error, 'stack'));
    return guest.abort(`${name} does not compile: ${readText(guest, error)}\n${stack}`);
  }
  const bytecode = guest.view.bytes(pointer, guest.view.u32(length)).slice();
  guest.call('wasm_free', pointer);
  guest.call('wasm_free', length);
  return bytecode;
}

export async function javascriptLayers(
  build: BuildGuest,
  warn: (missing: MissingPackage) => void,
): Promise<Layer[]> {
  const script = { path: BOOT_FILE, data: new TextEncoder().encode(await bootSource()) };
  const base: Layer = { at: LAYER, entries: toEntries([script], LAYER_TIME_MS) };
  const modules = await packageModules(warn);
  const files: { path: string; data: Uint8Array }[] = [];
  build([base], (guest) => {
    boot(guest);
    for (const one of modules) files.push({ path: one.name + BYTECODE_SUFFIX, data: compile(guest, one) });
  });
  const links = modules.flatMap(({ name, aliases }) =>
    aliases.map((alias): Entry => {
      const target = name + BYTECODE_SUFFIX;
      return { path: alias + BYTECODE_SUFFIX, kind: 'symlink', mode: 0o777, mtimeMs: LAYER_TIME_MS, target };
    }),
  );
  return [base, { at: PACKAGES, entries: [...toEntries(files, LAYER_TIME_MS), ...links] }];
}
