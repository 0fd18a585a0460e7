/** Local declarations at the head of a body. Invariant: the sum is within what engines accept. */
import { invalid, type Reader } from './binary-io.ts';
import { isValueType } from './decode-instruction.ts';

/** Engines refuse more; so a short body cannot announce billions. */
const MAX_LOCALS = 50_000;

export interface LocalDeclarations {
  /** Number of declaration groups, and of locals in them. */
  readonly groups: number;
  readonly count: number;
  /** Where the first group begins; the code begins where the reader is left. */
  readonly start: number;
}

export function skipLocalDeclarations(reader: Reader): LocalDeclarations {
  const groups = reader.count('local groups');
  const start = reader.pos;
  let count = 0;
  for (let i = 0; i < groups; i++) {
    const at = reader.pos;
    count += reader.u32();
    if (count > MAX_LOCALS) throw invalid(`a function has more than ${MAX_LOCALS} locals`, at);
    if (!isValueType(reader.u8())) throw invalid('a local has an unsupported type', at);
  }
  return { groups, count, start };
}
