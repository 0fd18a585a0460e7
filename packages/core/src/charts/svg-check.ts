/**
 * Checks an SVG before it is parsed: its size, and what multiplies it. Fuel and memory limits bound the rest. The rasteriser
 * loads no external references; `withoutReferences` removes them, so that viewers of the SVG do not load them either.
 */
import { formatCount, formatItems } from '../quantities.ts';
import { CHART_LIMITS } from './chart-limits.ts';

const ELEMENT = /</g;
const USE = /<(?:[\w.-]{1,64}:)?use[\s/>]/g;

/** Why an SVG is not rendered, or undefined. */
export function svgProblem(svg: string): string | undefined {
  const { svgChars, svgElements, svgUses } = CHART_LIMITS;
  if (svg.length > svgChars)
    return `its SVG has ${formatItems(svg.length, 'character')}, and the limit is ${formatCount(svgChars)}`;
  if (svg.includes('<!ENTITY')) return 'its SVG declares entities';
  if (count(svg, ELEMENT, svgElements * 2) > svgElements * 2)
    return `its SVG has more than ${svgElements} elements`;
  if (count(svg, USE, svgUses) > svgUses) return `its SVG has more than ${svgUses} use elements`;
  return undefined;
}

/** Occurrences of a pattern; stops counting after `max`. */
function count(text: string, pattern: RegExp, max: number): number {
  let found = 0;
  for (const _ of text.matchAll(pattern)) if (++found > max) break;
  return found;
}

const REFERENCE = /\s(?:xlink:)?href="(?!#|data:image\/(?:png|jpeg|gif|webp);)[^"]*"/g;

/** Removes references to anything outside the SVG that Vega has written. */
export const withoutReferences = (svg: string) => svg.replaceAll(REFERENCE, '');
