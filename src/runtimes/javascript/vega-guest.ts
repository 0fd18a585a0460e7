/**
 * Runs Vega in a JavaScript guest whose image has loaded it. The guest has no files, no program and no output: it receives a
 * specification and returns an SVG, under limits of its own.
 */
import type { Guest } from '../../engine/guest.ts';
import type { RuntimeName } from '../../schema.ts';
import { copyToGuest } from '../copy-to-guest.ts';
import type { Handles } from '../runtime.ts';
import { invoke, newText, property, readText } from './quickjs-api.ts';

/** The runtime whose guests run Vega. */
export const RENDERER_RUNTIME: RuntimeName = 'javascript';
/** Name of the handle of the function `render` in the image. */
export const RENDER_HANDLE = 'render_chart';
/** State of a fulfilled promise. */
const FULFILLED = 1;

/**
 * Loads the bytecode of the bundle when the image is built, renders specifications so that the image contains what the renderer
 * computes once, and returns the handle of its function `render`. The unused part of the stack is cleared, because the image
 * would contain it.
 */
export function loadRenderer(guest: Guest, bytecode: Uint8Array, specs: readonly string[]): number {
  const address = copyToGuest(guest, bytecode, 'wasm_malloc');
  const promise = guest.call('qjs_eval_bytecode', address, bytecode.length);
  const isLoaded = guest.call('qjs_promise_state', promise) === FULFILLED;
  const result = guest.call('qjs_promise_result', promise);
  if (!isLoaded)
    throw new Error(`${readText(guest, result)}\n${readText(guest, property(guest, result, 'stack'))}`);
  guest.view.bytes(address, bytecode.length).fill(0);
  guest.call('wasm_free', address);
  const render = property(guest, result, 'render');
  for (const spec of specs) {
    const answer = renderSpec(guest, { [RENDER_HANDLE]: render }, spec);
    if (answer?.startsWith('{"svg"') !== true) throw new Error(`A chart is not rendered: ${answer}`);
  }
  for (const value of [promise, result]) guest.call('qjs_free_value', value);
  guest.call('qjs_run_gc');
  const { start, end } = guest.stack.unused;
  guest.view.bytes(start, end - start).fill(0);
  return render;
}

/** Renders a specification. Returns the JSON text of charts/guest/render.js; undefined if it is too long. Throws `GuestStopped`. */
export function renderSpec(guest: Guest, handles: Handles, spec: string): string | undefined {
  const text = newText(guest, spec);
  const answer = invoke(guest, handles[RENDER_HANDLE]!, text);
  const svg = readText(guest, answer);
  for (const value of [text, answer]) guest.call('qjs_free_value', value);
  return svg;
}
