/**
 * Draws the charts that a program displays: Vega in a guest of its own, then the rasteriser. Each chart starts from the same
 * images, so charts cannot influence each other. Nothing is loaded before the first chart of the thread.
 */
import { findRenderer, loadRasteriser } from '../charts/artifacts.ts';
import { CHART_LIMITS, chartTimeMs } from '../charts/limits.ts';
import { type Rasteriser, rasterise } from '../charts/rasteriser.ts';
import { svgProblem, withoutReferences } from '../charts/svg-check.ts';
import type { Guest } from '../engine/guest.ts';
import { IMAGE_TIME_MS, PAGE_BYTES } from '../engine/image-identity.ts';
import { GuestStopped, type RunContext } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { Volume } from '../fs/volume.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import { parseLimitedObject } from '../results/message.ts';
import type { DrawnChart } from '../results/result-collector.ts';
import { renderSpec } from '../runtimes/javascript/vega-guest.ts';
import type { DisplayResult } from '../schema.ts';
import { type LoadedImage, loadImage } from './load-image.ts';

const MAX_PAGES = CHART_LIMITS.memoryBytes / PAGE_BYTES;
const VOLUME_LIMITS = { maxBytes: 0, maxFiles: 0 };

let renderer: LoadedImage | undefined;
let rasteriser: Rasteriser | undefined;

type Cancellation = Pick<RunContext, 'cancel' | 'cancelValue'>;

/** The charts of one call, which share a budget of fuel and time. */
export class ChartRenderer {
  readonly #deadlineMs: number;
  #fuel = CHART_LIMITS.totalFuel as number;

  /** `others` are the images that the thread has loaded. */
  constructor(
    readonly cancellation: Cancellation,
    readonly others: () => Iterable<LoadedImage>,
    timeoutMs: number,
  ) {
    this.#deadlineMs = performance.now() + chartTimeMs(timeoutMs);
  }

  /** Fuel that the charts have used. */
  get fuelConsumed(): number {
    return CHART_LIMITS.totalFuel - this.#fuel;
  }

  /** Draws a specification, given as JSON text. A chart that cannot be drawn has a note. */
  draw(spec: string): DrawnChart {
    const rendered = this.#attempt(() => this.#render(spec));
    if (typeof rendered === 'string') return { note: rendered };
    const { svg, width, height, chart } = rendered;
    const png = this.#attempt(() => this.#rasterise(svg, { width, height }));
    return typeof png === 'string' ? { svg, png: undefined, chart, note: png } : { svg, png, chart };
  }

  /** The value of an action, or a sentence about why it failed. */
  #attempt<T>(action: () => T): T | string {
    try {
      return action();
    } catch (cause) {
      return `The chart is not drawn: ${reasonOf(cause)}.`;
    }
  }

  #context(): RunContext {
    return {
      ...this.cancellation,
      fuelBudget: Math.min(CHART_LIMITS.fuel, this.#fuel),
      deadlineMs: this.#deadlineMs,
      // The same specification always gives the same chart.
      deterministic: { startMs: IMAGE_TIME_MS, seed: 0 },
      output: () => {},
      result: () => {},
    };
  }

  #render(spec: string): { svg: string; width: number; height: number; chart: DisplayResult['chart'] } {
    renderer ??= loadImage(findRenderer(), this.others());
    const { pool, layers, image } = renderer;
    const guest = pool.acquire(MAX_PAGES);
    try {
      guest.beginRun(this.#context());
      const volume = new Volume(VOLUME_LIMITS, () => guest.now());
      for (const { at, tree } of layers) volume.mount(at, tree);
      guest.kernel.volume = volume;
      const text = renderSpec(guest, image.header.handles, spec);
      stopAtLimit(guest);
      renderer.checkDamage();
      return parseAnswer(text);
    } finally {
      this.#fuel -= guest.fuelConsumed;
      pool.release(guest);
    }
  }

  #rasterise(svg: string, size: { width: number; height: number }): Uint8Array {
    rasteriser ??= loadRasteriser();
    const problem = svgProblem(svg);
    if (problem !== undefined) throw new ChartError(problem);
    return rasterise(rasteriser, svg, size, this.#context(), (fuel) => {
      this.#fuel -= fuel;
    }).png;
  }
}

/** Why a chart cannot be drawn, as a clause. */
class ChartError extends Error {}

function stopAtLimit(guest: Guest): void {
  const reason = guest.limitReached;
  if (reason !== undefined) throw new GuestStopped({ reason, message: reason });
}

const LIMITS: Readonly<Record<string, string>> = {
  out_of_fuel: 'drawing it takes too much fuel. Aggregate or sample the data',
  timeout: 'drawing it takes too long. Aggregate or sample the data',
  memory_limit: 'drawing it takes too much memory. Aggregate or sample the data',
  cancelled: 'the call was cancelled',
};

function reasonOf(cause: unknown): string {
  if (cause instanceof ChartError) return cause.message;
  if (cause instanceof GuestStopped) return LIMITS[cause.stop.reason] ?? 'the renderer failed';
  // A damaged installation.
  if (cause instanceof SandboxError) throw cause;
  if (isSyscallError(cause)) return 'the renderer failed';
  return cause instanceof Error ? oneLine(cause.message) : 'the renderer failed';
}

/** A message as the end of a clause. */
function oneLine(message: string): string {
  const text = message
    .slice(0, 500)
    .replaceAll(/[\p{C}\s]/gu, ' ')
    .trim();
  return text.endsWith('.') ? text.slice(0, -1) : text;
}

/** The answer of guest/render.js. Untrusted, because a specification can contain code for the guest. */
function parseAnswer(text: string | undefined) {
  if (text === undefined) throw new ChartError('it is too large. Aggregate or sample the data');
  const answer = parseLimitedObject(Buffer.from(text)) ?? {};
  const { svg, width, height, chart, error } = answer as Record<string, unknown>;
  if (typeof error === 'string') throw new ChartError(oneLine(error));
  if (typeof svg !== 'string' || typeof width !== 'number' || typeof height !== 'number')
    throw new ChartError('the renderer returned no chart');
  return { svg: withoutReferences(svg), width, height, chart: chart as DisplayResult['chart'] };
}
