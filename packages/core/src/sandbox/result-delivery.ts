/** The results of a call as they arrive: kept for the result of the call, and passed to the callback of the caller. */
import { decodeResult, type EncodedResult } from '../results/encoded-result.ts';
import { RESULT_LIMITS } from '../results/result-limits.ts';
import type { DisplayResult } from '../schema.ts';
import type { OutputDelivery } from './output-delivery.ts';

/** The number in the id of a result, which counts the results of a call. */
const numberOf = (id: string) => Number(id.slice(1));

export class ResultDelivery {
  readonly list: DisplayResult[] = [];

  constructor(
    readonly output: Pick<OutputDelivery, 'guard'>,
    readonly onResult?: ((result: DisplayResult) => void) | undefined,
  ) {}

  /** Whether the caller has received results. */
  get wasDelivered(): boolean {
    return this.onResult !== undefined && this.list.length > 0;
  }

  /** Discards the results of a program that starts again. */
  clear(): void {
    this.list.length = 0;
  }

  add(encoded: EncodedResult): void {
    // A process that runs guests is not trusted to enforce the limit.
    if (this.list.length >= RESULT_LIMITS.count) return;
    const result = decodeResult(encoded);
    // Charts arrive after results that were displayed later.
    const after = this.list.findLastIndex(({ id }) => numberOf(id) < numberOf(result.id));
    this.list.splice(after + 1, 0, result);
    this.output.guard(() => this.onResult?.(result));
  }
}
