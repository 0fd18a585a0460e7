/**
 * Checks an SVG before it is parsed: its size, and what multiplies it. Fuel and memory limits bound the rest. The rasteriser
 * loads no external references; `withoutReferences` removes them, so that viewers of the SVG do not load them either.
 */
import { CHART_LIMITS } from './limits.ts';

/** Why an SVG is not rendered, or undefined. */
export function svgProblem(svg: string): string | undefined {
  if (svg.length > CHART_LIMITS.svgChars)
    return `its SVG has ${svg.length} characters, and at most ${CHART_LIMITS.svgChars} are rendered`;
  if (svg.includes('<!ENTITY') || svg.includes('<!DOCTYPE')) return 'its SVG declares entities';
  if (count(svg, '<', CHART_LIMITS.svgElements * 2) > CHART_LIMITS.svgElements * 2)
    return `its SVG has more than ${CHART_LIMITS.svgElements} elements`;
  if (count(svg, '<use', CHART_LIMITS.svgUses) > CHART_LIMITS.svgUses)
    return `its SVG has more than ${CHART_LIMITS.svgUses} use elements`;
  return undefined;
}

/** Occurrences of a text; stops counting after `max`. */
function count(text: string, part: string, max: number): number {
  let found = 0;
  for (let at = text.indexOf(part); at >= 0 && found <= max; at = text.indexOf(part, at + part.length))
    found++;
  return found;
}

const REFERENCE = /\s(?:xlink:)?href="(?!#|data:image\/(?:png|jpeg|gif|webp);)[^"]*"/g;

/** Removes references to anything outside the SVG that Vega has written. */
export const withoutReferences = (svg: string) => svg.replaceAll(REFERENCE, '');
