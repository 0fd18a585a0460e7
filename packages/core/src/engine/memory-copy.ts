/**
 * A copy of the memory of a guest in units. Copies share the units that have not changed since an earlier copy, so the copies of a
 * shell that forks take only what differs. The account of the call counts each unit once.
 */
import { syscallError } from '../kernel/syscall-error.ts';
import type { MemoryAccount } from './memory-account.ts';

const UNIT_BYTES = 8192;
const ZEROS = Buffer.alloc(UNIT_BYTES);

interface Unit {
  readonly bytes: Buffer;
  refs: number;
}

export class MemoryCopy {
  /** Undefined stands for zeros. */
  readonly #units: readonly (Unit | undefined)[];

  private constructor(
    readonly account: MemoryAccount,
    units: readonly (Unit | undefined)[],
  ) {
    this.#units = units;
    for (const unit of units) if (unit !== undefined) unit.refs++;
  }

  /** Copies a memory. Fails with ENOMEM if the call has no memory for what differs from the earlier copy. */
  static of({ buffer }: WebAssembly.Memory, account: MemoryAccount, earlier?: MemoryCopy): MemoryCopy {
    const memory = Buffer.from(buffer);
    const known = earlier === undefined ? [] : earlier.#units;
    const units: (Unit | undefined)[] = [];
    const changed: number[] = [];
    for (let at = 0; at < memory.length; at += UNIT_BYTES) {
      const index = units.length;
      const before = known[index];
      units.push(before);
      if (memory.compare(before?.bytes ?? ZEROS, 0, UNIT_BYTES, at, at + UNIT_BYTES) !== 0)
        changed.push(index);
    }
    if (!account.admits(changed.length * UNIT_BYTES)) throw syscallError('ENOMEM');
    for (const index of changed) {
      const at = index * UNIT_BYTES;
      const isZero = memory.compare(ZEROS, 0, UNIT_BYTES, at, at + UNIT_BYTES) === 0;
      units[index] = isZero ? undefined : newUnit(memory.subarray(at, at + UNIT_BYTES), account);
    }
    return new MemoryCopy(account, units);
  }

  get byteLength(): number {
    return this.#units.length * UNIT_BYTES;
  }

  /** Another copy with the same units. */
  share(): MemoryCopy {
    return new MemoryCopy(this.account, this.#units);
  }

  /** Writes the copy to a memory that is at least as large. */
  writeTo({ buffer }: WebAssembly.Memory): void {
    const memory = new Uint8Array(buffer);
    this.#units.forEach((unit, i) => {
      memory.set(unit?.bytes ?? ZEROS, i * UNIT_BYTES);
    });
    memory.fill(0, this.byteLength);
  }

  /** Called once. */
  release(): void {
    for (const unit of this.#units)
      if (unit !== undefined && --unit.refs === 0) this.account.copiedBytes -= UNIT_BYTES;
  }
}

function newUnit(bytes: Uint8Array, account: MemoryAccount): Unit {
  account.copiedBytes += UNIT_BYTES;
  const copy = Buffer.allocUnsafeSlow(UNIT_BYTES);
  copy.set(bytes);
  return { bytes: copy, refs: 0 };
}
