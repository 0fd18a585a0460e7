/** Reads the local declarations at the start of a function body. */
import { isValueType } from './binary-format.ts';
import { invalid, type Reader } from './binary-io.ts';

/** The limit of the engines. It also keeps a few bytes from declaring billions of locals. */
const MAX_LOCALS = 50_000;

interface LocalDeclarations {
  /** Number of declaration groups. */
  readonly groups: number;
  /** Number of locals in all groups. */
  readonly count: number;
  /** Offset of the first group. */
  readonly start: number;
}

/** Leaves the reader at the first instruction. */
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
