/** Finds the line of an instruction in the line table of QuickJS bytecode. Any bytes are valid input. */

const OP_FIRST = 1;
const RANGE = 5;
const BASE = -1;

/** The line of the instruction at offset `pc`; `firstLine` is that of the function. */
export function lineAt(table: Uint8Array, firstLine: number, pc: number): number {
  let at = 0;
  const unsigned = () => {
    let value = 0;
    for (let shift = 0; at < table.length && shift < 35; shift += 7) {
      const byte = table[at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return value >>> 0;
  };
  /** Zigzag encoding. */
  const signed = () => {
    const value = unsigned();
    return (value >>> 1) ^ -(value & 1);
  };
  let line = firstLine;
  let position = 0;
  while (at < table.length) {
    const op = table[at++]!;
    let next = line;
    if (op === 0) {
      position += unsigned();
      next += signed();
    } else {
      position += Math.floor((op - OP_FIRST) / RANGE);
      next += ((op - OP_FIRST) % RANGE) + BASE;
    }
    signed();
    if (pc < position) break;
    line = next;
  }
  return line;
}
