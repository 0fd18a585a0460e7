/** Decodes the location table of a code object (`co_linetable`): the line of every instruction. Any bytes are valid input. */

/** Tables longer than this are decoded up to this length. */
const MAX_TABLE_BYTES = 262_144;
/** Kinds of entries. Kinds below `SHORT_LINE` are on the same line as the previous entry. */
const SHORT_LINE = 10;
const LONG = 13;
const WITHOUT_COLUMNS = 14;
const WITHOUT_LINE = 15;

/** The lines by instruction (code unit); 0 for instructions without a line. */
export function decodeLocationTable(table: Uint8Array, firstLine: number): Int32Array {
  const lines: number[] = [];
  let line = firstLine;
  let at = 0;
  const end = Math.min(table.length, MAX_TABLE_BYTES);
  const varint = () => {
    let value = 0;
    for (let shift = 0; at < end && shift < 30; shift += 6) {
      const byte = table[at]!;
      // The first byte of an entry has its highest bit set.
      if (byte >= 128) break;
      at++;
      value |= (byte & 63) << shift;
      if ((byte & 64) === 0) break;
    }
    return value;
  };
  while (at < end) {
    const head = table[at++]!;
    const kind = (head >> 3) & 15;
    if (kind === LONG || kind === WITHOUT_COLUMNS) {
      const value = varint();
      line += value & 1 ? -(value >> 1) : value >> 1;
    } else if (kind >= SHORT_LINE && kind < LONG) line += kind - SHORT_LINE;
    const shown = kind === WITHOUT_LINE ? 0 : line;
    for (let length = (head & 7) + 1; length > 0; length--) lines.push(shown);
    while (at < end && table[at]! < 128) at++;
  }
  return Int32Array.from(lines);
}
