/**
 * The structure offsets that CPython publishes at the start of `_PyRuntime` for external profilers. They are read once,
 * when the boot image is built, and saved with the other handles of the image, where a program cannot change them.
 */
import type { Guest } from '../../../engine/guest.ts';
import type { Handles } from '../../runtime.ts';

const COOKIE = 'xdebugpy';
/** The version whose table is known, 3.14.2 final. */
const VERSION = 0x030e02f0;

/** Positions in the table, which consists of 64-bit words. */
const TABLE = {
  interpreters_head: 5,
  threads_head: 9,
  imports_modules: 12,
  current_frame: 26,
  datastack_chunk: 29,
  frame_previous: 32,
  frame_executable: 33,
  frame_instr_ptr: 34,
  frame_localsplus: 35,
  frame_owner: 36,
  code_filename: 40,
  code_qualname: 42,
  code_linetable: 43,
  code_firstlineno: 44,
  code_localsplusnames: 46,
  code_instructions: 48,
  object_type: 51,
  type_name: 53,
  type_flags: 55,
  tuple_items: 57,
  tuple_size: 58,
  list_items: 60,
  list_size: 61,
  set_used: 63,
  dict_keys: 67,
  dict_values: 68,
  float_value: 70,
  long_tag: 72,
  long_digits: 73,
  bytes_size: 75,
  bytes_data: 76,
  unicode_state: 78,
  unicode_length: 79,
  unicode_ascii_size: 80,
} as const;

export type Offsets = Readonly<Record<keyof typeof TABLE, number>>;

const PREFIX = 'offset_';

/** The offsets, and the addresses of the only thread state and of `sys.modules`, as handles for the image. */
export function readDebugOffsets(guest: Guest): Handles {
  const { view } = guest;
  const runtime = (guest.exports['_PyRuntime'] as WebAssembly.Global).value as number;
  const cookie = new TextDecoder().decode(view.bytes(runtime, COOKIE.length));
  if (cookie !== COOKIE || view.i64(runtime + 8) !== VERSION)
    guest.abort('the interpreter does not publish the expected structure offsets');
  const handles: Handles = {};
  for (const [name, position] of Object.entries(TABLE)) {
    handles[PREFIX + name] = view.i64(runtime + position * 8);
  }
  const interpreter = view.u32(runtime + handles[`${PREFIX}interpreters_head`]!);
  handles['thread'] = view.u32(interpreter + handles[`${PREFIX}threads_head`]!);
  handles['modules'] = view.u32(interpreter + handles[`${PREFIX}imports_modules`]!);
  return handles;
}

const known = new WeakMap<Handles, Offsets>();

/** The offsets among the handles of an image. */
export function offsetsOf(handles: Handles): Offsets {
  let offsets = known.get(handles);
  if (offsets === undefined) {
    const names = Object.keys(TABLE) as (keyof typeof TABLE)[];
    offsets = Object.fromEntries(names.map((name) => [name, handles[PREFIX + name] ?? 0])) as Offsets;
    known.set(handles, offsets);
  }
  return offsets;
}
