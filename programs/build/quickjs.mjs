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
/** What a library could use that is loaded at run time. There is none. */
const LIBRARY_API =
  `acos acosh asin asinh atan atan2 atanh calloc cos cosh exp fmod free log log10 log2 memchr memcmp
  __multi3 pow qsort realloc sin sinh sqrt strchr strcmp strcspn strlen strncmp strrchr strspn tan tanh trunc
  JS_Call JS_DefinePropertyValueStr JS_DefinePropertyValueUint32 JS_DupValue JS_FreeCString JS_FreeValue JS_FreeValueRT
  JS_GetArrayBuffer JS_GetException JS_GetOpaque JS_GetOpaque2 JS_GetRuntime JS_GetTypedArrayBuffer JS_GetTypedArrayType
  JS_IsArrayBuffer JS_IsError JS_IsFunction JS_IsPromise JS_IsStrictEqual JS_MarkValue JS_NewArray JS_NewArrayFrom
  JS_NewBigInt64 JS_NewCFunction2 JS_NewClass JS_NewClassID JS_NewError JS_NewObject JS_NewObjectClass JS_NewObjectProto
  JS_NewStringLen JS_NewUint8ArrayCopy JS_SetOpaque JS_Throw JS_ThrowOutOfMemory JS_ThrowRangeError JS_ThrowTypeError
  JS_ToBigInt64 JS_ToBool JS_ToCStringLen2 JS_ToFloat64 JS_ToInt32`.split(/\s+/);

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
    exports: [...API, ...LIBRARY_API],
    runtime: [],
    // Libraries add their functions.
    growableTable: true,
  });
  const licenceText = readFileSync(join(root, 'usr/share/doc/qjs-src/copyright'), 'utf8');
  return { commands: [], licence: 'MIT', licenceText };
}
