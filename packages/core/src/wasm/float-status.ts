/**
 * Gives numpy its floating-point status. WebAssembly has no status flags, and the headers of Emscripten define all of them as 0,
 * so the compiled functions of numpy that read and clear the status return 0 whatever the C library says. They are recognised
 * by their code and changed to return what `fetestexcept` returns. The linker provides this function and `feraiseexcept`.
 * Flags that arithmetic would set are never set. The compiler has merged the functions that set one flag each, so these stay
 * without effect; the linear algebra of numpy sets only "invalid", with calls of `feraiseexcept` of its own.
 */

import { EXTERNAL_KIND } from './binary-format.ts';
import { Writer } from './binary-io.ts';
import { withBodies } from './bind-own-imports.ts';
import { opcodesNamed } from './opcodes.ts';
import type { ByteRange, ParsedModule } from './parse-module.ts';

/** Argument of `fetestexcept` that clears the status too. Compiled code passes 0. */
export const TEST_AND_CLEAR = -1;
/** The only flag that can be set, with numpy's number. */
export const INVALID_FLAG = 8;

/** The types of both functions in the notation of FunctionType. */
export const FLOAT_STATUS_SIGNATURES: ReadonlyMap<string, string> = new Map([
  ['env.fetestexcept', 'i>i'],
  ['env.feraiseexcept', 'i>i'],
]);

const OP = opcodesNamed('end call drop local.get i32.const');

/** Returns the bytes of the module, changed if it has such functions. */
export function withFloatStatus(module: ParsedModule): Uint8Array {
  const imported = module.imports.filter(({ kind }) => kind === EXTERNAL_KIND.function);
  const indexOf = (wanted: string) =>
    imported.findIndex(({ module: from, name }) => from === 'env' && name === wanted);
  const [test, raise] = [indexOf('fetestexcept'), indexOf('feraiseexcept')];
  if (test < 0 || raise < 0) return module.bytes;
  const body = ({ start, end }: ByteRange) =>
    Buffer.from(module.bytes.buffer, module.bytes.byteOffset + start, end - start);
  const call = (index: number) => code((to) => to.u8(OP.call).u32(index));
  const constant = (value: number) => code((to) => to.u8(OP['i32.const']).signed(value));
  const returnZero = code((to) => to.bytes(constant(0)).u8(OP.end));
  const ignored = (index: number) => code((to) => to.bytes(constant(0)).bytes(call(index)).u8(OP.drop));
  const takesAndReturnsOne = (position: number) => {
    const { params, results } = module.types[module.functionTypes[module.importedFunctions + position]!]!;
    return params === 1 && results === 1;
  };
  // int npy_get_floatstatus_barrier(char *)
  const reader = module.bodies.findIndex(
    (range, i) =>
      takesAndReturnsOne(i) &&
      body(range).includes(ignored(test)) &&
      body(range).subarray(-3).equals(returnZero),
  );
  if (reader < 0) return module.bytes;
  // int npy_clear_floatstatus_barrier(char *): no locals, calls the function above with its parameter.
  const clear = code((to) =>
    to
      .u8(0)
      .u8(OP['local.get'])
      .u8(0)
      .bytes(call(module.importedFunctions + reader))
      .u8(OP.drop)
      .bytes(returnZero),
  );
  // The merged functions that set a flag.
  const set = code((to) => to.u8(0).bytes(ignored(raise)).u8(OP.end));
  return withBodies(module, (position, range, to) => {
    const original = body(range);
    if (position === reader)
      to.bytes(original, 0, original.length - 1)
        .u8(OP.drop)
        .bytes(constant(0))
        .bytes(call(test))
        .u8(OP.end);
    else if (original.equals(clear)) to.u8(0).bytes(constant(TEST_AND_CLEAR)).bytes(call(test)).u8(OP.end);
    else if (original.equals(set)) to.u8(0).u8(OP.end);
    else to.bytes(original);
  });
}

const code = (write: (to: Writer) => Writer): Buffer => Buffer.from(write(new Writer(16)).view().slice());
