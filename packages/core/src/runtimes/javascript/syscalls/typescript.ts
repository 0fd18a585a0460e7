/** Removes the types from TypeScript programs. The library that does so is loaded when it is first used. */
import { requireInstalled } from '../../../host/install-folder.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { FUEL_PER_US } from '../../../kernel/syscalls.ts';
import { int32, lenientDecoder, type SystemCall, toText } from './call-arguments.ts';
import { pay } from './host-work.ts';

interface StripTypes {
  stripTypes(code: string, keepImports: boolean, pay: (tokens: number) => void): object;
}
let library: StripTypes | undefined;

/** The bundle of the folder `typescript`. */
const LIBRARY = './runtimes/javascript/typescript/strip-types.cjs';
/** Longest program that is read. */
const MAX_PROGRAM_BYTES = 4 * 1024 * 1024;
/** Fuel for a token that is parsed. */
const TOKEN_FUEL = 2 * FUEL_PER_US;
/** Fuel for a byte: the longest tokens and comments are read and copied a few times. */
const BYTE_FUEL = FUEL_PER_US / 20;

/** The program without types, as JSON; see typescript.js. */
export const stripTypes: SystemCall = (guest, [code, keepImports]) => {
  const { bytes } = toText(code);
  if (bytes.length > MAX_PROGRAM_BYTES) throw syscallError('EINVAL');
  pay(guest, bytes.length * BYTE_FUEL);
  library ??= requireInstalled(LIBRARY) as StripTypes;
  const text = lenientDecoder.decode(bytes);
  return JSON.stringify(
    library.stripTypes(text, int32(keepImports) === 1, (tokens) => pay(guest, tokens * TOKEN_FUEL)),
  );
};
