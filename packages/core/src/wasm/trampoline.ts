/**
 * Builds the trampoline module, which turns JavaScript functions into functions that can be stored in a WebAssembly
 * table, and exports a `trap` function. Node.js has no other way to put a JavaScript function into a table, and only a
 * real trap stops a guest that catches every exception.
 *
 * Layout: types 0 to n-1 are the signatures and type n is `() -> ()`; imports `host.0` to `host.n-1`; one function of
 * type n whose body is `unreachable`; exports `0` to `n-1` and `trap`.
 */
import {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  type NumberType,
  SECTION,
  VALUE_TYPE,
} from './binary-format.ts';
import { Writer } from './binary-io.ts';
import { opcodesNamed } from './opcodes.ts';

export interface Signature {
  readonly params: readonly NumberType[];
  readonly results: readonly NumberType[];
}

const OP = opcodesNamed('unreachable end');
const TRAP_BODY = Uint8Array.of(0, OP.unreachable, OP.end);

/** The bytes of the trampoline module for host functions with these signatures. */
export function trampolineModule(signatures: readonly Signature[]): Uint8Array {
  const trap = signatures.length;
  const types = [...signatures, { params: [], results: [] }];
  const exports = [...signatures.keys()].map(String).concat('trap');
  const valueTypes = (to: Writer, list: readonly NumberType[]) =>
    to.vector(list, (_, type) => to.u8(VALUE_TYPE[type]));

  const out = new Writer().bytes(Uint8Array.from(HEADER));
  const section = <T>(id: number, items: readonly T[], write: (to: Writer, item: T, i: number) => unknown) =>
    out.section(id, new Writer().vector(items, write).view());
  section(SECTION.type, types, (to, { params, results }) => {
    valueTypes(to.u8(FUNCTION_TYPE), params);
    valueTypes(to, results);
  });
  section(SECTION.import, signatures, (to, _, i) =>
    to.name('host').name(String(i)).u8(EXTERNAL_KIND.function).u32(i),
  );
  section(SECTION.function, [trap], (to, type) => to.u32(type));
  section(SECTION.export, exports, (to, name, i) => to.name(name).u8(EXTERNAL_KIND.function).u32(i));
  section(SECTION.code, [TRAP_BODY], (to, body) => to.u32(body.length).bytes(body));
  return out.view().slice();
}
