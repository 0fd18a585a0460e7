/** The output of a run: what its result will contain, and what the main thread receives while it runs. */
import { CappedOutput } from '../../kernel/capped-output.ts';
import type { RunJob, RunOutcome } from '../protocol/messages.ts';
import { OutputSender, type Stream } from './output-sender.ts';

export class RunOutput {
  readonly #streams: Record<Stream, CappedOutput>;
  /** Whether all output is sent, also what is beyond the limit of the result. */
  readonly #sendsAll: boolean;
  /** Absent if nobody reads the output while the program runs. */
  readonly #sender: OutputSender | undefined;

  /** `drain` waits until what was sent has been received. */
  constructor(
    {
      limits,
      streamOutput,
    }: Pick<RunJob, 'streamOutput'> & {
      readonly limits: Pick<RunJob['limits'], 'stdout_max_bytes' | 'stderr_max_bytes'>;
    },
    send: (stream: Stream, bytes: Uint8Array) => void,
    drain: () => void,
  ) {
    this.#streams = {
      1: new CappedOutput(limits.stdout_max_bytes),
      2: new CappedOutput(limits.stderr_max_bytes),
    };
    this.#sendsAll = streamOutput === 'all';
    if (streamOutput !== 'none') this.#sender = new OutputSender(send, this.#sendsAll ? drain : undefined);
  }

  write(stream: Stream, bytes: Uint8Array): void {
    const accepted = this.#streams[stream].push(bytes);
    this.#sender?.push(stream, this.#sendsAll ? bytes : accepted, performance.now());
  }

  /** To be called periodically while the guest runs, and before it sleeps; undefined if nothing is sent. */
  get onTick(): ((nowMs: number, isSleeping: boolean) => void) | undefined {
    const sender = this.#sender;
    return sender && ((nowMs, isSleeping) => (isSleeping ? sender.flush(nowMs) : sender.tick(nowMs)));
  }

  /** Sends what is left when the program has ended. */
  finish(): void {
    for (const stream of [1, 2] as const) {
      const rest = this.#streams[stream].finish();
      if (!this.#sendsAll) this.#sender?.push(stream, rest, performance.now());
    }
    this.#sender?.finish(performance.now());
  }

  outcome(): Pick<RunOutcome, 'stdout' | 'stderr' | 'stdoutDroppedBytes' | 'stderrDroppedBytes'> {
    const { 1: stdout, 2: stderr } = this.#streams;
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutDroppedBytes: stdout.dropped,
      stderrDroppedBytes: stderr.dropped,
    };
  }
}
