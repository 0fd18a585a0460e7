/** The results of one run: messages of the guest, the value that its report contains, and images that it has written. */
import { FsError } from '../../fs/fs-error.ts';
import type { TreeChanges } from '../../fs/tree-changes.ts';
import type { Volume } from '../../fs/volume.ts';
import { syscallError } from '../../kernel/syscall-error.ts';
import type { EncodedResult } from '../../results/encoded-result.ts';
import { type DrawnChart, ResultCollector } from '../../results/result-collector.ts';
import type { GuestReport } from '../../schema.ts';

/** Where results that are too large for the result of the call are written, in the workspace. */
const FOLDER = 'results';
/** The error of the system call for each reason. Guests convert it to a message. */
const REJECTIONS = { too_large: 'EFBIG', too_complex: 'E2BIG', invalid: 'EINVAL' } as const;

export class RunResults {
  readonly #collector: ResultCollector;
  /** The results since the end of the program, which are sent with its outcome. */
  #late: EncodedResult[] | undefined;

  /** `volume` returns the file system of the guest. */
  constructor(volume: () => Volume, onResult: (result: EncodedResult) => void) {
    this.#collector = new ResultCollector({
      onResult: (result) => (this.#late === undefined ? onResult(result) : void this.#late.push(result)),
      store: (name, bytes) => store(volume(), name, bytes),
    });
  }

  /** Number of results beyond the limit. */
  get omitted(): number {
    return this.#collector.omitted;
  }

  /** Accepts a message of the guest. If the message is rejected, the system call fails. */
  receive(message: Uint8Array): void {
    const rejection = this.#collector.receive(message);
    if (rejection !== undefined) throw syscallError(REJECTIONS[rejection]);
  }

  get hasCharts(): boolean {
    return this.#collector.hasCharts;
  }

  /** Adds the charts that the program has displayed. Must precede `finish`, because it may write files. */
  drawCharts(draw: (spec: string) => DrawnChart): void {
    this.#collector.drawCharts(draw);
  }

  /** Returns the results that are known only when the program has ended. */
  finish(report: GuestReport | undefined, { created, modified, entries }: TreeChanges): EncodedResult[] {
    this.#late = [];
    const { result, result_text: text } = report ?? {};
    if (result !== undefined && !this.#collector.hasMain)
      this.#collector.addMainText(text ?? (typeof result === 'string' ? result : JSON.stringify(result)));
    const written = new Set([...created, ...modified]);
    for (const { path, data } of entries)
      if (data !== undefined && written.has(path)) this.#collector.addFile(path, data);
    return this.#late;
  }
}

function store(volume: Volume, name: string, bytes: Uint8Array): string | undefined {
  const folder = `${volume.home}/${FOLDER}`;
  const path = `${folder}/${name}`;
  try {
    if (!volume.exists(folder)) volume.mkdir(folder, '/', 0o755);
    const flags = { create: true, truncate: true, write: true, nofollow: true };
    const found = volume.open(path, '/', flags, 0o644);
    // The program may have replaced the folder with a link.
    if (found.path !== path) return undefined;
    volume.write(found.node, 0, bytes);
    return `${FOLDER}/${name}`;
  } catch (cause) {
    if (!(cause instanceof FsError)) throw cause;
    if (cause.code === 'ENOSPC' && volume.exists(path)) volume.unlink(path, '/');
    return undefined;
  }
}
