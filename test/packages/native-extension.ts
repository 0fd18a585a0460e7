/** A Python extension module for tests, assembled without a compiler, and a wheel that contains it. */
import type { Code, FunctionSource } from '../wasm/assembler.ts';
import {
  buildLinked,
  type LinkSource,
  MEMORY_BASE,
  TABLE_BASE,
  USUAL_IMPORTS,
} from '../wasm/link-assembler.ts';
import { wheel } from './wheel-fixtures.ts';

export const NATIVE_TAG = 'cp314-cp314-pyemscripten_2026_0_wasm32';
export const LIBRARY = 'counter.cpython-314-wasm32-emscripten.so';

/** Offsets in the memory of the module. */
const DEFINITION = 0;
const METHODS = 64;
const COUNTER = 400;
const JUMP_BUFFER = 408;
const TIME = 424;
const TEXT = 472;
const NAMES = 504;
const END = 1024;
/** Fields of struct tm at TIME: 12 November 2026, 07:05:09. */
const TIME_FIELDS = [9, 5, 7, 12, 10, 126, 4];
/** Fields of PyModuleDef and PyMethodDef on a 32-bit machine. */
const DEFINITION_FIELDS = { refcount: 0, name: 20, size: 28, methods: 32 };
const METHOD_BYTES = 16;
const METH_O = 8;
const API_VERSION = 1013;

const TYPES: LinkSource['types'] = [
  [[], []],
  [['i32'], ['i32']],
  [['i32', 'i32'], ['i32']],
  [[], ['i32']],
  [['i32'], []],
  [['i32', 'i32'], []],
  [['i32', 'i32', 'i32'], ['i32']],
];
/** Imported functions. */
const CREATE = 0;
const AS_LONG = 1;
const FROM_LONG = 2;
const LONGJMP = 3;
/** Functions of the host that the main module does not export, with their types. They follow the other imports. */
const HOST_FUNCTIONS = {
  emscripten_console_log: 4,
  emscripten_console_error: 4,
  emscripten_console_warn: 4,
  emscripten_console_trace: 4,
  emscripten_out: 4,
  emscripten_err: 4,
  emscripten_return_address: 1,
  emscripten_get_callstack: 6,
  _Unwind_Backtrace: 2,
  _Unwind_GetIPInfo: 2,
  _Unwind_FindEnclosingFunction: 1,
  __asctime_r: 2,
} as const;
type HostFunctionName = keyof typeof HOST_FUNCTIONS;
const FIRST_HOST_FUNCTION = 4;
const OWN = FIRST_HOST_FUNCTION + Object.keys(HOST_FUNCTIONS).length;
const callHost = (name: HostFunctionName): Code => [
  'call',
  FIRST_HOST_FUNCTION + Object.keys(HOST_FUNCTIONS).indexOf(name),
];

const argument: Code[] = [
  ['local.get', 1],
  ['call', AS_LONG],
];
const word = (offset: number, ...value: Code[]): Code[] => [MEMORY_BASE, ...value, ['i32.store', 2, offset]];
const address = (offset: number): Code[] => [MEMORY_BASE, ['i32.const', offset], ['i32.add']];

const PRINTERS = (Object.keys(HOST_FUNCTIONS) as HostFunctionName[]).filter((name) =>
  /_console_|_out$|_err$/.test(name),
);

/** The methods, each called with one object. */
const METHOD_CODE: Readonly<Record<string, readonly Code[]>> = {
  // Adds to a static variable and returns it.
  add: [
    ...word(COUNTER, MEMORY_BASE, ['i32.load', 2, COUNTER], ...argument, ['i32.add']),
    MEMORY_BASE,
    ['i32.load', 2, COUNTER],
    ['call', FROM_LONG],
  ],
  spin: [{ op: 'loop', type: 'void', body: [['br', 0]] }, ['local.get', 1]],
  crash: [['unreachable']],
  throws: [...argument, ['throw', 0]],
  recurse: [['local.get', 0], ['local.get', 1], ['call', OWN + 4], ['drop'], ['local.get', 1]],
  // Calls longjmp of the C library, catches the jump, and returns the value that it carries.
  jump: [
    {
      op: 'try',
      body: [...address(JUMP_BUFFER), ...argument, ['call', LONGJMP]],
      catch: [
        ['i32.load', 2, 4],
        ['local.set', 0],
      ],
      tag: 1,
    },
    ['local.get', 0],
    ['call', FROM_LONG],
  ],
  // These print the time at TIME.
  ...Object.fromEntries(
    PRINTERS.map((name) => [
      name,
      [...address(TIME), ...address(TEXT), callHost('__asctime_r'), callHost(name), ['local.get', 1]],
    ]),
  ),
  // Each returns the result of the host function. The callback of the first would trap.
  _Unwind_Backtrace: [
    ...([TABLE_BASE, ['i32.const', 2], ['i32.add'], ['i32.const', 0]] as Code[]),
    callHost('_Unwind_Backtrace'),
    ['call', FROM_LONG],
  ],
  _Unwind_GetIPInfo: [...address(TEXT), ...address(TEXT), callHost('_Unwind_GetIPInfo'), ['call', FROM_LONG]],
  _Unwind_FindEnclosingFunction: [
    ...argument,
    callHost('_Unwind_FindEnclosingFunction'),
    ['call', FROM_LONG],
  ],
  emscripten_return_address: [...argument, callHost('emscripten_return_address'), ['call', FROM_LONG]],
  // Returns 256 times the result plus the first byte of the text.
  emscripten_get_callstack: [
    ...word(TEXT, ['i32.const', -1]),
    ['i32.const', 0],
    ...address(TEXT),
    ...argument,
    callHost('emscripten_get_callstack'),
    ['i32.const', 256],
    ['i32.mul'],
    MEMORY_BASE,
    ['i32.load8_u', 0, TEXT],
    ['i32.add'],
    ['call', FROM_LONG],
  ],
};
const NAME_LIST = [...Object.keys(METHOD_CODE), 'counter'];
const nameOffset = (index: number) =>
  NAMES + NAME_LIST.slice(0, index).reduce((sum, name) => sum + name.length + 1, 0);

function extension(): Uint8Array {
  const methods = Object.entries(METHOD_CODE).map(([, code]): FunctionSource => ({ type: 2, code }));
  const relocations = [
    ...word(DEFINITION + DEFINITION_FIELDS.name, ...address(nameOffset(methods.length))),
    ...word(DEFINITION + DEFINITION_FIELDS.methods, ...address(METHODS)),
    ...methods.flatMap((_, i) => [
      ...word(METHODS + i * METHOD_BYTES, ...address(nameOffset(i))),
      ...word(METHODS + i * METHOD_BYTES + 4, TABLE_BASE, ['i32.const', i], ['i32.add']),
    ]),
  ];
  const image = new Uint8Array(END);
  const view = new DataView(image.buffer);
  view.setUint32(DEFINITION + DEFINITION_FIELDS.refcount, 1, true);
  view.setInt32(DEFINITION + DEFINITION_FIELDS.size, -1, true);
  methods.forEach((_, i) => {
    view.setUint32(METHODS + i * METHOD_BYTES + 8, METH_O, true);
  });
  TIME_FIELDS.forEach((value, i) => {
    view.setInt32(TIME + i * 4, value, true);
  });
  image.set(new TextEncoder().encode(`${NAME_LIST.join('\0')}\0`), NAMES);
  return buildLinked({
    dylink: { memory: [image.length, 4], table: [methods.length, 0] },
    types: TYPES,
    imports: [
      ...USUAL_IMPORTS,
      ['env', 'PyModule_Create2', { func: 2 }],
      ['env', 'PyLong_AsLong', { func: 1 }],
      ['env', 'PyLong_FromLong', { func: 1 }],
      ['env', '__wasm_longjmp', { func: 5 }],
      ...Object.entries(HOST_FUNCTIONS).map(([name, func]) => ['env', name, { func }] as const),
      ['env', '__cpp_exception', { tag: 4 }],
      ['env', '__c_longjmp', { tag: 4 }],
    ],
    functions: [
      ...methods,
      { type: 0, export: '__wasm_apply_data_relocs', code: relocations },
      {
        type: 3,
        export: 'PyInit_counter',
        code: [...address(DEFINITION), ['i32.const', API_VERSION], ['call', CREATE]],
      },
    ],
    elements: [{ at: [TABLE_BASE], functions: methods.map((_, i) => OWN + i) }],
    data: [{ at: [MEMORY_BASE], bytes: [...image] }],
  });
}

export const EXTENSION: Uint8Array = extension();

/** Writes a wheel with the extension module `counter` and returns its path. */
export const nativeWheel = (folder: string, tag = NATIVE_TAG, library = EXTENSION) =>
  wheel(folder, 'counter', '1.0', { [LIBRARY]: library, 'counter_data.py': 'START = 1\n' }, tag);
