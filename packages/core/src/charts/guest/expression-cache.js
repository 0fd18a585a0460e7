/**
 * Parsed and compiled expressions by their text. Charts contain many expressions, most of which are the same in every chart, for
 * example those of axes. The image of the renderer contains the expressions of typical charts.
 */
import { parseExpression as parse } from 'vega-expression';

export * from 'vega-expression';

/** The function with its results for texts. */
function remembered(create) {
  const known = new Map();
  const find = (...texts) => {
    const key = texts.join('\0');
    let found = known.get(key);
    if (found === undefined) {
      found = create(...texts);
      known.set(key, found);
    }
    return found;
  };
  return Object.assign(find, { known });
}

/** Syntax trees are shared, so they must not change. */
function frozen(node) {
  if (typeof node === 'object' && node !== null && !Object.isFrozen(node))
    for (const child of Object.values(Object.freeze(node))) frozen(child);
  return node;
}

/** Replaces the function of vega-expression, which the bundle of Vega imports from here. */
export const parseExpression = remembered((text) => frozen(parse(text)));

// Vega compiles expressions with this function. They have at most two parameters. Vega adds properties to functions, so every
// call returns another one.
const { Function: createFunction } = globalThis;
const compile = remembered(createFunction);
globalThis.Function = Object.assign(
  (...texts) => {
    const run = compile(...texts);
    return function (first, second) {
      return run.call(this, first, second);
    };
  },
  { prototype: createFunction.prototype },
);

/** The texts of all expressions so far, as JSON. */
export const expressions = () =>
  JSON.stringify([parseExpression, compile].map(({ known }) => [...known.keys()]));

/** Parses and compiles the expressions that `expressions` has returned. */
export function prepare(text) {
  const [parsed, compiled] = JSON.parse(text);
  for (const expression of parsed) parseExpression(expression);
  for (const key of compiled) compile(...key.split('\0'));
}
