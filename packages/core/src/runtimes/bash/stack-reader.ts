/** Reads from the memory of a shell what it is executing: the line, the function and the variables. */
import type { StackFrame, Variables } from '../../analysis/run-profile-schema.ts';
import type { Guest } from '../../engine/guest.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';
import type { Handles, StackReader } from '../runtime.ts';
import { OWN_VARIABLE } from './own-variables.ts';

/** Lines of a program; other numbers come from damaged memory. */
const MAX_LINE = 10_000_000;
/** The program outside of functions. */
const MAIN = '<eval>';
const MAX_NAME_BYTES = 100;
const MAX_VALUE_BYTES = 120;
/** Functions that call each other, entries of the tables of variables, and variables that are read. */
const MAX_CONTEXTS = 20;
const MAX_BUCKETS = 4096;
const MAX_READ = 500;

/** Offsets in bash's structures, whose pointers have four bytes. */
const CONTEXT = { down: 16, table: 20 };
const TABLE = { buckets: 0, bucketCount: 4, entryCount: 8 };
const BUCKET = { next: 0, data: 8 };
const VARIABLE = { name: 0, value: 4, dynamic: 12, attributes: 20 };
const ARRAY_COUNT = 8;
/** Attributes of variables. */
const ATTRIBUTE = { array: 0x4, function: 0x8, map: 0x40, invisible: 0x1000 };

const decoder = new TextDecoder();

export class BashStackReader implements StackReader {
  constructor(
    readonly guest: Guest,
    readonly handles: Handles,
    readonly file: string,
  ) {}

  frames(): readonly StackFrame[] {
    return this.#read([], () => {
      const { view } = this.guest;
      const line = view.i32(this.handles['line']!);
      if (line < 1 || line > MAX_LINE) return [];
      const running = view.u32(this.handles['function']!);
      const name = running === 0 ? MAIN : this.#text(view.u32(running + VARIABLE.name), MAX_NAME_BYTES);
      return [{ file: this.file, line, function: name, origin: 'program' }];
    });
  }

  variables(isPreferred: (name: string) => boolean, max: number): readonly Variables[] {
    const found = this.#read([], () => [...this.#visible()]);
    const preferred = found.filter(([name]) => isPreferred(name));
    const others = found.filter(([name]) => !isPreferred(name));
    return [Object.fromEntries([...preferred, ...others].slice(0, max))];
  }

  /** The variables of the program, those of the innermost function first. */
  *#visible(): Generator<[name: string, text: string]> {
    const { view } = this.guest;
    const seen = new Set<string>();
    let context = view.u32(this.handles['variables']!);
    for (let i = 0; i < MAX_CONTEXTS && context !== 0; i++) {
      for (const variable of this.#entries(view.u32(context + CONTEXT.table))) {
        const name = this.#text(view.u32(variable + VARIABLE.name), MAX_NAME_BYTES);
        if (seen.has(name) || OWN_VARIABLE.test(name)) continue;
        seen.add(name);
        const text = this.#valueOf(variable);
        if (text !== undefined) yield [name, text];
      }
      context = view.u32(context + CONTEXT.down);
    }
  }

  *#entries(table: number): Generator<number> {
    const { view } = this.guest;
    if (table === 0) return;
    const buckets = view.u32(table + TABLE.buckets);
    const count = Math.min(view.u32(table + TABLE.bucketCount), MAX_BUCKETS);
    let left = MAX_READ;
    for (let i = 0; i < count; i++) {
      let bucket = view.u32(buckets + i * 4);
      for (; bucket !== 0 && left > 0; left--) {
        yield view.u32(bucket + BUCKET.data);
        bucket = view.u32(bucket + BUCKET.next);
      }
    }
  }

  /** Undefined for a variable that has no value of its own. */
  #valueOf(variable: number): string | undefined {
    const { view } = this.guest;
    const attributes = view.u32(variable + VARIABLE.attributes);
    const value = view.u32(variable + VARIABLE.value);
    const isHidden = (attributes & (ATTRIBUTE.function | ATTRIBUTE.invisible)) !== 0;
    if (isHidden || value === 0 || view.u32(variable + VARIABLE.dynamic) !== 0) return undefined;
    if ((attributes & ATTRIBUTE.array) !== 0) return `(${view.u32(value + ARRAY_COUNT)} elements)`;
    if ((attributes & ATTRIBUTE.map) !== 0) return `(${view.u32(value + TABLE.entryCount)} entries)`;
    return JSON.stringify(this.#text(value, MAX_VALUE_BYTES));
  }

  /** A text that ends with NUL, or its beginning. */
  #text(address: number, maxBytes: number): string {
    const bytes = this.guest.view.all.subarray(address, address + maxBytes);
    const end = bytes.indexOf(0);
    return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
  }

  /** Pointers in damaged memory lead to addresses that do not exist. */
  #read<T>(otherwise: T, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (isSyscallError(cause)) return otherwise;
      throw cause;
    }
  }
}
