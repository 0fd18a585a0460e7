/**
 * Parsed and compiled expressions by their text. Charts contain many expressions, most of which are the same in every chart, for
 * example those of axes. The image of the renderer contains the expressions of typical charts.
 */
import { parseExpression as parse } from 'vega-expression';

export * from 'vega-expression';

/** The function with its results for texts. Syntax trees and functions without a closure can be shared. */
function remembered(create) {
  const known = new Map();
  return (...texts) => {
    const key = texts.join('\0');
    let found = known.get(key);
    if (found === undefined) {
      found = create(...texts);
      known.set(key, found);
    }
    return found;
  };
}

export const parseExpression = remembered(parse);

// Vega compiles expressions with this function.
const { prototype } = globalThis.Function;
globalThis.Function = Object.assign(remembered(globalThis.Function), { prototype });
