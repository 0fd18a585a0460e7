/**
 * A tiny module that gives host functions the form a WebAssembly table takes, and a `trap` function. Stock Node has no
 * other way to put a host function into a table, and only a real trap stops a guest that catches everything.
 *
 * Layout: types 0..n-1 of the host functions, type n `() -> ()`; imports `host.0` to `host.n-1`; one function of type
 * n whose body is `unreachable`; exports `0` to `n-1` and `trap`.
 */

export type ValueType = 'i32' | 'i64' | 'f32' | 'f64';

export interface Signature {
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

const TYPE_BYTE: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c };
/** Keeps every count and index below 128, so that each is one LEB128 byte. */
const MAX_FUNCTIONS = 16;

const name = (text: string) => [text.length, ...new TextEncoder().encode(text)];
const vector = (items: readonly number[][]) => [items.length, ...items.flat()];

/** A section whose size may take two LEB128 bytes. */
function section(id: number, content: readonly number[]): number[] {
  return [id, (content.length & 0x7f) | 0x80, content.length >> 7, ...content];
}

/** The bytes of the gate for host functions of these signatures. */
export function trampolineModule(signatures: readonly Signature[]): Uint8Array {
  if (signatures.length > MAX_FUNCTIONS) throw new RangeError('a gate holds at most 16 host functions');
  const count = signatures.length;
  const all = [...signatures, { params: [], results: [] }];
  const types = all.map(({ params, results }) => [
    0x60,
    ...vector(params.map((type) => [TYPE_BYTE[type]])),
    ...vector(results.map((type) => [TYPE_BYTE[type]])),
  ]);
  const imports = signatures.map((_, i) => [...name('host'), ...name(String(i)), 0x00, i]);
  const exports = [
    ...signatures.map((_, i) => [...name(String(i)), 0x00, i]),
    [...name('trap'), 0x00, count],
  ];
  const body = [0x00, 0x00, 0x0b];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector(types)),
    ...section(2, vector(imports)),
    ...section(3, vector([[count]])),
    ...section(7, vector(exports)),
    ...section(10, vector([[body.length, ...body]])),
  ]);
}
