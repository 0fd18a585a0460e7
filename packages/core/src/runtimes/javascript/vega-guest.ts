/**
 * Runs Vega in a JavaScript guest whose image has loaded it. The guest has no files, no program and no output: it receives a
 * specification and returns an SVG, under limits of its own.
 */
import type { Guest } from '../../engine/guest.ts';
import type { RuntimeName } from '../../schema.ts';
import type { Handles } from '../runtime.ts';
import { invoke, newText, readText } from './quickjs-api.ts';

/** The runtime whose guests run Vega. */
export const RENDERER_RUNTIME: RuntimeName = 'javascript';
/** Name of the handle of the function `render` in the image. */
export const RENDER_HANDLE = 'render_chart';
/** Calls a function with a text and returns its result as text. */
export function callWithText(guest: Guest, target: number, argument: string): string | undefined {
  const text = newText(guest, argument);
  const answer = invoke(guest, target, text);
  const result = readText(guest, answer);
  for (const value of [text, answer]) guest.call('qjs_free_value', value);
  return result;
}

/**
 * Renders a specification. Returns the JSON text of charts/guest/render.js; undefined if it is too long. Throws
 * `GuestStopped`.
 */
export const renderSpec = (guest: Guest, handles: Handles, spec: string) =>
  callWithText(guest, handles[RENDER_HANDLE]!, spec);
