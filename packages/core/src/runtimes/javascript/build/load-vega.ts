/** Loads Vega into the guest of which the image of the chart renderer is taken. */
import type { Guest } from '../../../engine/guest.ts';
import { copyToGuest } from '../../memory/copy-to-guest.ts';
import { property, readText } from '../quickjs-api.ts';
import { callWithText } from '../vega-guest.ts';

/** State of a fulfilled promise. */
const FULFILLED = 1;

/** The handles of the functions of the bundle. */
interface RendererFunctions {
  readonly render: number;
  readonly expressions: number;
  readonly prepare: number;
}

/** Loads the bytecode of the bundle when the image is built. */
export function loadRenderer(guest: Guest, bytecode: Uint8Array): RendererFunctions {
  const address = copyToGuest(guest, bytecode, 'wasm_malloc');
  const promise = guest.call('qjs_eval_bytecode', address, bytecode.length);
  const isLoaded = guest.call('qjs_promise_state', promise) === FULFILLED;
  const result = guest.call('qjs_promise_result', promise);
  if (!isLoaded)
    throw new Error(`${readText(guest, result)}\n${readText(guest, property(guest, result, 'stack'))}`);
  guest.view.bytes(address, bytecode.length).fill(0);
  guest.call('wasm_free', address);
  const [render, expressions, prepare] = ['render', 'expressions', 'prepare'].map((name) =>
    property(guest, result, name),
  ) as [number, number, number];
  for (const value of [promise, result]) guest.call('qjs_free_value', value);
  return { render, expressions, prepare };
}

/** The expressions that these charts contain. Another guest prepares them, because drawing leaves traces in memory. */
export function expressionsOf(
  guest: Guest,
  { render, expressions }: RendererFunctions,
  specs: readonly string[],
): string {
  for (const spec of specs) {
    const answer = callWithText(guest, render, spec);
    if (answer?.startsWith('{"svg"') !== true) throw new Error(`A chart could not be rendered: ${answer}`);
  }
  return callWithText(guest, expressions, '')!;
}

/** Makes a guest ready to be captured. The unused part of the stack is cleared, because the image would contain it. */
export function prepareExpressions(guest: Guest, { prepare }: RendererFunctions, texts: string): void {
  callWithText(guest, prepare, texts);
  guest.call('qjs_run_gc');
  const { start, end } = guest.stack.unused;
  guest.view.bytes(start, end - start).fill(0);
}
