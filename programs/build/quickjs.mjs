/** QuickJS-NG with the functions that the sandbox calls. It is no process: it has an interface of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceOf } from './sources.mjs';

const FILES = ['quickjs.c', 'dtoa.c', 'libregexp.c', 'libunicode.c'];
const INTERFACE = fileURLToPath(new URL('shims/quickjs.c', import.meta.url));
/** EMSCRIPTEN selects a switch instead of computed jumps, which WebAssembly does not have. */
const FLAGS = ['-O2', '-DEMSCRIPTEN', '-fvisibility=hidden'];
/** Programs can use three quarters: 7,600 calls of a function without variables. */
const STACK_BYTES = 2_621_440;
const API = ['JS_SetUncatchableError', 'JS_ThrowReferenceError'];

export async function buildQuickJs(toolchain, output) {
  const root = await toolchain.unpack('quickjs', ['patches/quickjs.patch']);
  const folder = join(root, sourceOf('quickjs').inside);
  const engine = await toolchain.compile('quickjs', FILES, FLAGS, folder);
  const interfaceObjects = await toolchain.compile(
    'quickjs-interface',
    [INTERFACE],
    [...FLAGS, `-I${folder}`],
  );
  toolchain.link(output, [...interfaceObjects, ...engine], {
    stack: STACK_BYTES,
    exports: API,
    runtime: [],
  });
  const licenceText = readFileSync(join(root, 'usr/share/doc/qjs-src/copyright'), 'utf8');
  return { commands: [], licence: 'MIT', licenceText };
}
