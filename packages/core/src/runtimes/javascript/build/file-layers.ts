/**
 * Builds the read-only layers of JavaScript guests: the bundled boot script, and the Node.js modules and the vendored
 * packages as bytecode, so that programs spend no fuel on compiling them. The guest compiles the bytecode itself.
 */
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { Guest } from '../../../engine/guest.ts';
import type { Entry } from '../../../fs/flat-entries.ts';
import { toEntries } from '../../../packages/package-files.ts';
import type { MissingPackage } from '../../../packages/vendored-package-table.ts';
import type { BuildInGuest } from '../../build/runtime-build.ts';
import { LAYER_TIME_MS, type Layer } from '../../runtime.ts';
import { property, readText, withCString } from '../quickjs-api.ts';
import { BYTECODE_SUFFIX, NODE_MODULES_PATH, PACKAGES_PATH } from '../syscalls/package-loader.ts';
import { BOOT_FILE, BOOT_LAYER, boot } from './boot-interpreter.ts';
import { type ModuleSource, packageModules } from './bundle-packages.ts';
import { localeDataModules } from './locale-data-modules.ts';

/** Flags of qjs_compile. */
const MODULE = 1;
const STRIP_SOURCE = 16;

/** Parts of core-js that implement a function which the interpreter has, only slower: its URL parser calls them for every character. */
const NATIVE: Readonly<Record<string, string>> = {
  'array-from.js': 'module.exports = Array.from;',
};
const NATIVE_FUNCTIONS: Plugin = {
  name: 'native functions',
  setup(bundler) {
    bundler.onLoad({ filter: /core-js-pure\/internals\/[^/]+$/ }, ({ path }) => {
      const contents = NATIVE[basename(path)];
      return contents === undefined ? undefined : { contents };
    });
  },
};

/** Bundles the boot script into a function that takes the host calls and returns the script's exports. */
async function bundleBootScript(): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL('../guest/boot.js', import.meta.url))],
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
    plugins: [NATIVE_FUNCTIONS],
  });
  return result.outputFiles[0]!.text;
}

const GUEST_FOLDER = fileURLToPath(new URL('../guest/', import.meta.url));
const NODE_FOLDER = `${GUEST_FOLDER}node/`;
/** Commands of the shell that are modules of this guest. */
const COMMAND_FILES = { curl: fileURLToPath(new URL('../../bash/commands/curl.js', import.meta.url)) };
/** Imports of bundled packages, and the Node.js modules that replace them. */
const REPLACED: Readonly<Record<string, string>> = {
  events: 'node:events',
  buffer: 'node:buffer',
  'string_decoder/': 'node:string_decoder',
  'process/': 'node:process',
  'abort-controller': 'node:internal/abort',
};

/**
 * The name by which a Node.js module loads a file: a part of the boot script or another module. Undefined for all other
 * files, which become part of the module.
 */
function externalName(file: string): string | undefined {
  if (file.startsWith(NODE_FOLDER)) return `node:${file.slice(NODE_FOLDER.length, -'.js'.length)}`;
  return file.startsWith(GUEST_FOLDER) ? `boot:${file.slice(GUEST_FOLDER.length, -'.js'.length)}` : undefined;
}

/** Bundles a Node.js module into an ES module that exports a function, which receives `require` and `module`. */
async function bundleNodeModule(name: string, file: string): Promise<ModuleSource> {
  const result = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'browser',
    target: 'es2024',
    legalComments: 'none',
    minifyWhitespace: true,
    minifySyntax: true,
    keepNames: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    banner: { js: 'export default function (require, module, exports) {' },
    footer: { js: '}' },
    plugins: [
      {
        name: 'separate modules',
        setup(bundler) {
          bundler.onResolve({ filter: /./ }, ({ path, importer, resolveDir }) => {
            if (path in REPLACED) return { path: REPLACED[path]!, external: true };
            if (path.startsWith('node:')) return { path, external: true };
            if (importer === '' || !importer.startsWith(GUEST_FOLDER) || !path.startsWith('.'))
              return undefined;
            const name = externalName(fileURLToPath(new URL(path, `file://${resolveDir}/`)));
            return name === undefined ? undefined : { path: name, external: true };
          });
        },
      },
    ],
  });
  return { name: `sandbox:node/${name}`, aliases: [], source: result.outputFiles[0]!.text };
}

async function nodeModuleSources(): Promise<ModuleSource[]> {
  const files = readdirSync(NODE_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .sort();
  const modules = files.map((file) => bundleNodeModule(file.slice(0, -'.js'.length), NODE_FOLDER + file));
  const commands = Object.entries(COMMAND_FILES).map(([name, file]) =>
    bundleNodeModule(`internal/commands/${name}`, file),
  );
  return [...(await Promise.all([...modules, ...commands])), ...(await localeDataModules())];
}

/** Compiles a module in a booted guest, which knows the built-in modules that it imports. */
export function compileBytecode(guest: Guest, { name, source }: ModuleSource): Uint8Array {
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
  const nodeModules = await nodeModuleSources();
  const files: { path: string; data: Uint8Array }[] = [];
  const nodeFiles: { path: string; data: Uint8Array }[] = [];
  buildInGuest([bootLayer], (guest) => {
    boot(guest);
    for (const one of nodeModules) {
      const path = one.name.slice('sandbox:node/'.length) + BYTECODE_SUFFIX;
      nodeFiles.push({ path, data: compileBytecode(guest, one) });
    }
    for (const one of modules)
      files.push({ path: one.name + BYTECODE_SUFFIX, data: compileBytecode(guest, one) });
  });
  const links = modules.flatMap(({ name, aliases }) =>
    aliases.map((alias): Entry => {
      const target = name + BYTECODE_SUFFIX;
      return { path: alias + BYTECODE_SUFFIX, kind: 'symlink', mode: 0o777, mtimeMs: LAYER_TIME_MS, target };
    }),
  );
  const nodeLayer: Layer = { at: NODE_MODULES_PATH, entries: toEntries(nodeFiles, LAYER_TIME_MS) };
  return [
    bootLayer,
    nodeLayer,
    { at: PACKAGES_PATH, entries: [...toEntries(files, LAYER_TIME_MS), ...links] },
  ];
}
