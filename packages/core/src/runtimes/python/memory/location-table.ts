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
  const end = Math.min(table.length, MAX_TABLE_BYTES);
  const lines = new Int32Array(instructionsIn(table, end));
  let line = firstLine;
  let at = 0;
  let instruction = 0;
  while (at < end) {
    const head = table[at++]!;
    const kind = (head >> 3) & 15;
    if (kind === LONG || kind === WITHOUT_COLUMNS) {
      let value = 0;
      // The first byte of an entry has its highest bit set, so a number ends there at the latest.
      for (let shift = 0; at < end && shift < 30 && table[at]! < 128; shift += 6) {
        const byte = table[at++]!;
        value |= (byte & 63) << shift;
        if ((byte & 64) === 0) break;
      }
      line += value & 1 ? -(value >> 1) : value >> 1;
    } else if (kind >= SHORT_LINE && kind < LONG) line += kind - SHORT_LINE;
    const next = instruction + (head & 7) + 1;
    if (kind === WITHOUT_LINE) instruction = next;
    else while (instruction < next) lines[instruction++] = line;
    while (at < end && table[at]! < 128) at++;
  }
  return lines;
}

/** The number of instructions that the entries in the first `end` bytes describe. */
function instructionsIn(table: Uint8Array, end: number): number {
  let count = 0;
  for (let at = 0; at < end; at++) if (at === 0 || table[at]! >= 128) count += (table[at]! & 7) + 1;
  return count;
}
