/**
 * Draws the charts that a program displays: Vega in a guest of its own, then the rasteriser. Each chart starts from the same
 * images, so charts cannot influence each other. Nothing is loaded before the first chart of the thread.
 */
import { findRenderer, sharedRasteriser } from '../../charts/artifacts.ts';
import { CHART_LIMITS, svgProblem, withoutReferences } from '../../charts/chart-limits.ts';
import { rasterise } from '../../charts/rasteriser.ts';
import { toPng } from '../../charts/shrink-pixels.ts';
import type { Guest } from '../../engine/guest.ts';
import { IMAGE_TIME_MS, PAGE_BYTES } from '../../engine/image-identity.ts';
import { GuestStopped, type RunContext } from '../../engine/run-context.ts';
import { Volume } from '../../fs/volume.ts';
import { parseLimitedObject } from '../../results/message.ts';
import type { DrawnChart } from '../../results/result-collector.ts';
import { renderSpec } from '../../runtimes/javascript/vega-guest.ts';
import type { DisplayResult } from '../../schema.ts';
import { asClause, DrawingError, drawingFailure } from './drawing-failure.ts';
import { type LoadedImage, loadImage } from './load-image.ts';

const MAX_PAGES = CHART_LIMITS.memoryBytes / PAGE_BYTES;
const ADVICE = 'Aggregate or sample the data';
const TIME_IS_UP = 'the time limit of the call is reached. Display fewer charts, or raise the limit';
const VOLUME_LIMITS = { maxBytes: 0, maxFiles: 0 };

let renderer: LoadedImage | undefined;

/** How the call is cancelled. */
type ChartCancellation = Pick<RunContext, 'cancel' | 'cancelValue'>;

/** The charts of one call, which share a budget of fuel and the time that is left of the call. */
export class ChartRenderer {
  #fuel = CHART_LIMITS.totalFuel as number;

  /** `others` are the images that the thread has loaded. */
  constructor(
    readonly cancellation: ChartCancellation,
    readonly others: () => Iterable<LoadedImage>,
    /** When the time of the call ends, on the clock of performance.now(). */
    readonly deadlineMs: number,
  ) {}

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
      if (performance.now() >= this.deadlineMs) throw new DrawingError(TIME_IS_UP);
      return action();
    } catch (cause) {
      return `The chart is not drawn: ${drawingFailure(cause, ADVICE)}.`;
    }
  }

  #context(): RunContext {
    return {
      ...this.cancellation,
      fuelBudget: Math.min(CHART_LIMITS.fuel, this.#fuel),
      deadlineMs: this.deadlineMs,
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
    const problem = svgProblem(svg);
    if (problem !== undefined) throw new DrawingError(problem);
    const charge = (fuel: number) => {
      this.#fuel -= fuel;
    };
    const { memoryBytes, edge } = CHART_LIMITS;
    const pixels = rasterise(sharedRasteriser(), { svg, size }, memoryBytes, this.#context(), charge);
    return toPng(pixels, { maxEdge: edge, maxBytes: Number.POSITIVE_INFINITY })!.png;
  }
}

function stopAtLimit(guest: Guest): void {
  const reason = guest.limitReached;
  if (reason !== undefined) throw new GuestStopped({ reason, message: reason });
}

/** The answer of guest/render.js. Untrusted, because a specification can contain code for the guest. */
function parseAnswer(text: string | undefined) {
  if (text === undefined) throw new DrawingError(`it is too large. ${ADVICE}`);
  const answer = parseLimitedObject(Buffer.from(text)) ?? {};
  const { svg, width, height, chart, error } = answer as Record<string, unknown>;
  if (typeof error === 'string') throw new DrawingError(asClause(error));
  if (typeof svg !== 'string' || typeof width !== 'number' || typeof height !== 'number')
    throw new DrawingError('the renderer returned no chart');
  return { svg: withoutReferences(svg), width, height, chart: chart as DisplayResult['chart'] };
}
