/** The results of a call as they arrive: kept for the result of the call, and passed to the callback of the caller. */
import { RESULT_LIMITS } from '../results/limits.ts';
import type { DisplayResult } from '../schema.ts';
import type { OutputDelivery } from './output-delivery.ts';

export class ResultDelivery {
  readonly list: DisplayResult[] = [];

  constructor(
    readonly output: Pick<OutputDelivery, 'guard'>,
    readonly onResult?: ((result: DisplayResult) => void) | undefined,
  ) {}

  add(result: DisplayResult): void {
    // A process that runs guests is not trusted to enforce the limit.
    if (this.list.length >= RESULT_LIMITS.count) return;
    this.list.push(result);
    this.output.guard(() => this.onResult?.(result));
  }
}
