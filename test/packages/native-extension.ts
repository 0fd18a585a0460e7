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
const COUNTER = 192;
const NAMES = 200;
const JUMP_BUFFER = 264;
const TIME = 280;
const TIME_TEXT = 328;
const END = 360;
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
];
/** Imported functions. */
const CREATE = 0;
const AS_LONG = 1;
const FROM_LONG = 2;
const LONGJMP = 3;
const CONSOLE_LOG = 4;
const CONSOLE_ERROR = 5;
const ASCTIME = 6;
const OWN = 7;

const argument: Code[] = [
  ['local.get', 1],
  ['call', AS_LONG],
];
const word = (offset: number, ...value: Code[]): Code[] => [MEMORY_BASE, ...value, ['i32.store', 2, offset]];
const address = (offset: number): Code[] => [MEMORY_BASE, ['i32.const', offset], ['i32.add']];

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
  // Prints a time and a name, and returns 5.
  report: [
    ...address(TIME),
    ...address(TIME_TEXT),
    ['call', ASCTIME],
    ['call', CONSOLE_LOG],
    ...address(NAMES),
    ['call', CONSOLE_ERROR],
    ['i32.const', 5],
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
      ['env', 'emscripten_console_log', { func: 4 }],
      ['env', 'emscripten_console_error', { func: 4 }],
      ['env', '__asctime_r', { func: 2 }],
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
