/**
 * Builds the read-only layers of JavaScript guests: the bundled boot script, and the vendored packages as bytecode, so that
 * programs spend no fuel on compiling them. The guest compiles the bytecode itself.
 */
import { fileURLToPath } from 'node:url';
import type { Guest } from '../../engine/guest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { type ModuleSource, packageModules } from '../../packages/bundle-javascript.ts';
import type { MissingPackage } from '../../packages/catalog.ts';
import { toEntries } from '../../packages/package-contents.ts';
import { type BuildInGuest, LAYER_TIME_MS, type Layer } from '../runtime.ts';
import { BOOT_FILE, BOOT_LAYER, boot } from './boot-interpreter.ts';
import { property, readText, withCString } from './quickjs-api.ts';
import { BYTECODE_SUFFIX, PACKAGES_PATH } from './syscalls/package-loader.ts';

/** Flags of qjs_compile. */
const MODULE = 1;
const STRIP_SOURCE = 16;

/**
 * Bundles the boot script into a function that takes the host calls and returns the script's exports. esbuild is a
 * development dependency and only available at build time.
 */
async function bundleBootScript(): Promise<string> {
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
    banner: { js: '(function (__host) {' },
    footer: { js: 'return boot; })' },
  });
  return result.outputFiles[0]!.text;
}

/** Compiles a module in a booted guest, which knows the built-in modules that it imports. */
function compile(guest: Guest, { name, source }: ModuleSource): Uint8Array {
  const length = guest.call('wasm_malloc', 4);
  const pointer = withCString(guest, source, (code, size) =>
    withCString(guest, name, (file) =>
      guest.call('qjs_compile', code, size, file, MODULE, STRIP_SOURCE, length),
    ),
  );
  if (pointer === 0) {
    const error = guest.call('qjs_get_exception');
    const stack = readText(guest, property(guest, error, 'stack'));
    return guest.abort(`cannot compile ${name}: ${readText(guest, error)}\n${stack}`);
  }
  const bytecode = guest.view.bytes(pointer, guest.view.u32(length)).slice();
  guest.call('wasm_free', pointer);
  guest.call('wasm_free', length);
  return bytecode;
}

export async function buildJavaScriptLayers(
  buildInGuest: BuildInGuest,
  warn: (missing: MissingPackage) => void,
): Promise<Layer[]> {
  const script = { path: BOOT_FILE, data: new TextEncoder().encode(await bundleBootScript()) };
  const bootLayer: Layer = { at: BOOT_LAYER, entries: toEntries([script], LAYER_TIME_MS) };
  const modules = await packageModules(warn);
  const files: { path: string; data: Uint8Array }[] = [];
  buildInGuest([bootLayer], (guest) => {
    boot(guest);
    for (const one of modules) files.push({ path: one.name + BYTECODE_SUFFIX, data: compile(guest, one) });
  });
  const links = modules.flatMap(({ name, aliases }) =>
    aliases.map((alias): Entry => {
      const target = name + BYTECODE_SUFFIX;
      return { path: alias + BYTECODE_SUFFIX, kind: 'symlink', mode: 0o777, mtimeMs: LAYER_TIME_MS, target };
    }),
  );
  return [bootLayer, { at: PACKAGES_PATH, entries: [...toEntries(files, LAYER_TIME_MS), ...links] }];
}
