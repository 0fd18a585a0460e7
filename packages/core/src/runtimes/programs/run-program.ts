/** Runs a C program in a guest that is in the state of its image: before the constructors, which read the environment. */
import type { Guest } from '../../engine/guest.ts';
import { argumentBytes } from '../../kernel/argument-text.ts';
import type { ExecRequest } from '../../kernel/processes.ts';

/** Lowest address of the stack that programs may use. Functions that do not check the stack need the rest. */
const STACK_RESERVE_BYTES = 16_384;

/** The exports of programs that the host uses; those of Asyncify exist only in programs that can leave their stack. */
export const PROGRAM_EXPORTS = [
  '__indirect_function_table',
  '__stack_pointer',
  '__wasm_call_ctors',
  'malloc',
  'run',
] as const;
export const FORK_EXPORTS = [
  'asyncify_start_unwind',
  'asyncify_stop_unwind',
  'asyncify_start_rewind',
  'asyncify_stop_rewind',
] as const;

/** Copies texts and a list of pointers to them into the guest. Returns the address of the list. */
export function copyTexts(guest: Guest, texts: readonly string[]): number {
  const encoded = texts.map((text) => argumentBytes(`${text}\0`));
  const listBytes = (texts.length + 1) * 4;
  const bytes = encoded.reduce((sum, { length }) => sum + length, listBytes);
  const list = guest.call('malloc', bytes) >>> 0;
  if (list === 0) return guest.outOfMemory();
  let at = list + listBytes;
  encoded.forEach((text, i) => {
    guest.view.setU32(list + i * 4, at);
    guest.view.bytes(at, text.length).set(text);
    at += text.length;
  });
  guest.view.setU32(list + texts.length * 4, 0);
  return list;
}

/** Calls the constructors of a program, with the environment of the kernel. */
export function initialise(guest: Guest): void {
  guest.stack.setLimit(STACK_RESERVE_BYTES);
  guest.call('__wasm_call_ctors');
}

/** The environment as a record. A text without `=` is left out. */
function environment(env: readonly string[]): Record<string, string> {
  const record = Object.create(null) as Record<string, string>;
  for (const text of env) {
    const at = text.indexOf('=');
    if (at > 0) record[text.slice(0, at)] = text.slice(at + 1);
  }
  return record;
}

/** Prepares a guest for the program of a command, and returns the call that runs it. It ends with an exit: it throws `GuestStopped`. */
export function commandLine(
  guest: Guest,
  command: string,
  { argv, env }: Pick<ExecRequest, 'argv' | 'env'>,
): { readonly name: string; readonly args: readonly number[] } {
  guest.kernel.env = environment(env);
  initialise(guest);
  // Programs with several commands choose by their name.
  const [name = command, ...args] = argv;
  const own = name.endsWith(`/${command}`) ? name : command;
  return { name: 'run', args: [args.length + 1, copyTexts(guest, [own, ...args])] };
}
