/**
 * Random programs over collections, arrays, typed arrays, regular expressions, dates, numbers and JSON: the engine of the
 * JavaScript guest computes what Node.js computes. Errors are compared by name, because messages are not specified. Functions
 * whose results the standard leaves to engines, such as Math.sin and Date.parse of other formats, do not occur.
 */
import assert from 'node:assert/strict';
import { runInThisContext } from 'node:vm';
import fc from 'fast-check';
import { bareEngine, quickJsBinary } from '../../../scripts/bare-quickjs.mjs';
import type { FuzzTarget } from '../target.ts';

/** Shows a value completely: holes, negative zero, keys in their order. */
const PRELUDE = `
  const out = [];
  const show = (v, depth = 0) => {
    if (Object.is(v, -0)) return '-0';
    if (typeof v === 'string') return JSON.stringify(v);
    if (typeof v === 'bigint') return v + 'n';
    if (typeof v === 'function') return 'function';
    if (typeof v !== 'object' || v === null) return String(v);
    if (depth > 4) return '…';
    if (v instanceof Date) return 'Date ' + +v;
    if (v instanceof RegExp) return 'RegExp ' + v + ' ' + v.lastIndex;
    if (v instanceof Map) return 'Map ' + show([...v], depth + 1);
    if (v instanceof Set) return 'Set ' + show([...v], depth + 1);
    const keys = Object.keys(v);
    const name = Array.isArray(v) ? 'Array ' + v.length : v.constructor?.name;
    return name + '{' + keys.map((k) => k + ':' + show(v[k], depth + 1)).join() + '}';
  };
  const o = [{ id: 0 }, { id: 1 }, [1, [2, [3]]]];
  let a = [1, 2, 3], b = [], m = new Map(), s = new Set(), t = new Uint8Array(8), d = new Date(0), x, r;
  const step = (f) => { try { out.push(show(f())); } catch (e) { out.push(e instanceof Error ? e.name : show(e)); } };
`;

const list = (items: readonly string[]) => fc.constantFrom(...items);
const int = fc.integer({ min: -12, max: 24 }).map(String);
const index = fc.integer({ min: -3, max: 12 }).map(String);
const number = fc.oneof(
  int,
  fc.integer().map(String),
  fc.double().map((value) => (Object.is(value, -0) ? '-0' : String(value))),
  list(['-0', 'NaN', '2**31', '2**32 - 1', '2**53', '1e21', '0.1', '-1.5', '5e-324', 'Infinity']),
);
const word = fc.string({ unit: list([...'ab1 _-é']), maxLength: 12 });
const text = fc.oneof(word, fc.string({ maxLength: 6 })).map((value) => JSON.stringify(value));
const big = fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n }).map(String);
const value = fc.oneof(
  number,
  text,
  big.map((one) => `${one}n`),
  fc.nat(9).map((small) => `${small}n`),
  list(['true', 'false', 'null', 'undefined', 'o[0]', 'o[1]', 'o[2]', 'a.length', 'x']),
);
const array = fc.oneof(
  list(['a', 'b', '[...a, ...b]']),
  fc.array(value, { maxLength: 6 }).map((items) => `[${items.join()}]`),
);

/** Expressions made of a template in which `$` stands for the given parts, in order. */
const from = (template: string, ...parts: fc.Arbitrary<string>[]) => {
  const [start, ...ends] = template.split('$');
  return fc.tuple(...parts).map((texts) => start + texts.map((part, i) => part + ends[i]).join(''));
};

const kind = list([
  'Int8',
  'Uint8',
  'Uint8Clamped',
  'Int16',
  'Uint16',
  'Int32',
  'Uint32',
  'Float32',
  'Float64',
]);
const callback = list([
  '(v) => v',
  '(v, i) => i',
  '(v) => typeof v',
  '(v) => v != null',
  '(v, i) => i % 2',
  '(v) => v === 1',
]);
const order = list(['', '(p, q) => p - q', '(p, q) => (p < q ? 1 : p > q ? -1 : 0)', '() => 0']);

const arrays = fc.oneof(
  from('a.push($)', value),
  from('(a.length = $)', fc.nat(20).map(String)),
  from('a.unshift($)', value),
  from('a.unshift($, $, $)', value, value, value),
  from('a.splice($, $)', index, index),
  from('a.splice($, $, $, $)', index, index, value, value),
  from('a.copyWithin($, $, $)', index, index, index),
  from('a.fill($, $, $)', value, index, index),
  from('(a[$] = $)', fc.nat(14).map(String), value),
  from('(b = a.slice($, $))', index, index),
  from('(a = $)', array),
  from('(b = a.concat($, $))', array, value),
  from('a.$($)', list(['indexOf', 'lastIndexOf', 'includes', 'at']), value),
  from(
    'a.$($)',
    list(['map', 'filter', 'find', 'findLast', 'findLastIndex', 'some', 'every', 'flatMap']),
    callback,
  ),
  from(
    'a.$',
    list([
      'pop()',
      'shift()',
      'reverse()',
      'flat()',
      'flat(2)',
      'keys().next()',
      'toReversed()',
      'join("-")',
      'length',
    ]),
  ),
  from('a.map(String).sort($)', list(['', '(p, q) => (p < q ? 1 : p > q ? -1 : 0)'])),
  from('a.filter(Number.isFinite).sort($)', order),
  from('a.filter(Number.isFinite).toSorted($)', order),
  from('a.with($, $)', index, value),
  from('a.toSpliced($, $, $)', index, index, value),
  from('delete a[$]', fc.nat(9).map(String)),
  from('($ in a)', fc.nat(9).map(String)),
  from('Array.from({ length: $ }, (_, i) => i * $)', fc.nat(9).map(String), int),
  from('a.reduce((sum, v) => sum + show(v).length, $)', int),
);

const collections = fc.oneof(
  from('m.set($, $).size', value, value),
  from('m.$($)', list(['get', 'has', 'delete']), value),
  from('(m = new Map($.map((v, i) => [v, i])))', array),
  from('s.$($)', list(['add', 'has', 'delete']), value),
  from('(s = new Set($))', array),
  from('(Array.from({ length: $ }, (_, i) => m.set(i * $, i)), m.size)', fc.nat(60).map(String), number),
  from('(Array.from({ length: $ }, (_, i) => s.add(i * $)), s.size)', fc.nat(60).map(String), number),
  from('[...m].filter(([k]) => typeof k === "number").map(([k]) => m.delete(k)).length'),
  from(
    '{ const seen = []; for (const k of s) { seen.push(k); if (seen.length < 9) { s.delete(k); s.add($); } else break; } return seen; }',
    value,
  ),
  from('{ const seen = []; m.forEach((v, k) => { seen.push(k); m.delete($); }); return seen; }', value),
  from('[...m.$()]', list(['keys', 'values', 'entries'])),
  from('[...s]'),
  from('m.clear()'),
  from('s.clear()'),
  from('{ const w = new WeakMap([[o[0], $]]); return [w.get(o[0]), w.has(o[1]), w.delete(o[0])]; }', value),
);

const typed = fc.oneof(
  from('(t = new $Array($))', kind, fc.nat(9).map(String)),
  from(
    '(t = new $Array($))',
    kind,
    fc.array(number, { maxLength: 9 }).map((items) => `[${items.join()}]`),
  ),
  from('(t = new $Array(t))', kind),
  from('(t[$] = $)', index, number),
  from('t.fill($, $, $)', number, index, index),
  from(
    't.set($, $)',
    fc.array(number, { maxLength: 4 }).map((items) => `[${items.join()}]`),
    index,
  ),
  from('t.copyWithin($, $, $)', index, index, index),
  from('t.$($, $)', list(['slice', 'subarray']), index, index),
  from(
    't.$',
    list([
      'sort()',
      'reverse()',
      'toSorted()',
      'join()',
      'byteLength',
      'sort((p, q) => q - p)',
      'toReversed()',
    ]),
  ),
  from('t.$($)', list(['indexOf', 'lastIndexOf', 'includes', 'at']), number),
  from('t.with($, $)', index, number),
  from('t.$($)', list(['map', 'filter', 'findLast', 'some']), callback),
  from(
    'new DataView(t.buffer).get$($, $)',
    list(['Int8', 'Uint16', 'Int32', 'Float32', 'Float64', 'BigInt64']),
    index,
    list(['true', 'false']),
  ),
  from(
    'new DataView(t.buffer).set$($, $, true)',
    list(['Int8', 'Uint16', 'Int32', 'Float64']),
    index,
    number,
  ),
);

const atom = list([
  'a',
  'b',
  '1',
  '.',
  '\\d',
  '\\w',
  '\\W',
  '\\s',
  '[ab]',
  '[^a]',
  '[a-z1]',
  '\\b',
  '_',
  '\\u00e9',
  '^',
  '$',
]);
const quantifier = list(['', '', '', '?', '*', '+', '{1,2}', '{2}', '*?', '+?', '??']);
const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.tuple(atom, quantifier).map(([one, many]) => (/^(\\b|\^|\$)$/.test(one) ? one : one + many)),
    fc
      .tuple(list(['(', '(?:', '(?=', '(?!', '(?<=', '(?<!']), tie('pattern'))
      .map(([open, body]) => `${open}${body})`),
    fc.tuple(tie('pattern'), list(['?', '{0,2}'])).map(([body, many]) => `(${body})${many}`),
  ),
  pattern: fc
    .array(fc.oneof({ weight: 8, arbitrary: tie('part') }, { weight: 1, arbitrary: list(['|', '\\1']) }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join('')),
}));
const flags = list(['', 'g', 'i', 'gi', 'm', 'y', 's', 'u', 'gu', 'd', 'v', 'gv']);
const regexp = fc
  .tuple(pattern, flags)
  .map(([source, flag]) => `new RegExp(${JSON.stringify(source)}, '${flag}')`);
/** In V8, `replace` repeats empty matches of patterns with eight groups or more, unlike `exec`. */
const fewGroups = regexp.filter((source) => source.split('(').length < 9);
const expressions = fc.oneof(
  from('(r = $)', regexp),
  from('$.exec($)', regexp, text),
  from('r.test($)', text),
  from('$.match($)', text, regexp),
  from(
    '$.replace($, $)',
    text,
    fewGroups,
    list(['"[$&]"', '"$1-$2"', '"$`$\'"', '(...all) => all.length', '"$$"', '"$<n>"']),
  ),
  from('$.split($, $)', text, regexp, list(['undefined', '2', '0'])),
  from('$.search($)', text, regexp),
  from(
    '[...$.matchAll($)].map((one) => [...one, one.index])',
    text,
    fc
      .tuple(pattern, list(['g', 'gi', 'gu']))
      .map(([source, flag]) => `new RegExp(${JSON.stringify(source)}, '${flag}')`),
  ),
  from('$.replaceAll($, $)', text, text, text),
);

const time = fc.oneof(
  int,
  fc.integer().map(String),
  fc.integer({ min: -9e15, max: 9e15 }).map(String),
  number,
);
const dates = fc.oneof(
  from('(d = new Date($))', time),
  from('Date.UTC($, $, $, $, $)', fc.integer({ min: -300, max: 10_000 }).map(String), int, int, int, time),
  from(
    'd.$($)',
    list([
      'setUTCFullYear',
      'setUTCMonth',
      'setUTCDate',
      'setUTCHours',
      'setUTCMinutes',
      'setUTCSeconds',
      'setUTCMilliseconds',
      'setTime',
    ]),
    time,
  ),
  from(
    'd.$()',
    list([
      'toISOString',
      'toJSON',
      'toUTCString',
      'getUTCDay',
      'getUTCFullYear',
      'getUTCMonth',
      'getUTCDate',
      'getUTCHours',
      'valueOf',
    ]),
  ),
  from(
    'Date.parse($)',
    fc
      .date({ noInvalidDate: false })
      .map((date) => JSON.stringify(Number.isNaN(+date) ? 'x' : date.toISOString())),
  ),
  from(
    'Date.parse("2024-$-$T$:30:15.123$")',
    list(['01', '02', '12', '13', '1']),
    list(['01', '29', '30', '31', '32']),
    list(['00', '23', '24', '25']),
    list(['Z', '+02:00', '-11:30', '+24:00', 'z!']),
  ),
);

const json = fc.oneof(
  from(
    'JSON.stringify($, $, $)',
    value,
    list([
      'null',
      '["id"]',
      '(k, v) => (typeof v === "bigint" ? String(v) : v)',
      '(k, v) => (k === "id" ? undefined : v)',
    ]),
    list(['0', '2', '"--"', '20']),
  ),
  from('JSON.stringify([a, o, t, $])', value),
  from(
    'JSON.stringify({ $: $, "1": a, b })',
    word.map((key) => JSON.stringify(key)),
    value,
  ),
  fc.json({ maxDepth: 3 }).map((source) => `JSON.stringify(JSON.parse(${JSON.stringify(source)}))`),
  fc
    .tuple(
      fc.json({ maxDepth: 2 }),
      fc.nat(40),
      list(['', ',', '}', ']', '"', '0', 'e', '.', '-', '\\', 'null', ' ']),
    )
    .map(
      ([source, at, extra]) =>
        `JSON.parse(${JSON.stringify(source.slice(0, at) + extra + source.slice(at))})`,
    ),
  from(
    'JSON.parse(JSON.stringify(a.map((v) => (typeof v === "bigint" ? 0 : v))), (k, v) => (k === "1" ? undefined : v))',
  ),
);

const numbersAndTexts = fc.oneof(
  from('($).toString($)', fc.integer().map(String), fc.integer({ min: 1, max: 37 }).map(String)),
  from('String($)', number),
  from(
    '($).$($)',
    fc.double({ noNaN: true }).map(String),
    list(['toFixed', 'toPrecision', 'toExponential']),
    fc.nat(20).map(String),
  ),
  from('Number($)', text),
  from('parseInt($, $)', text, fc.integer({ min: 0, max: 37 }).map(String)),
  from('parseFloat(String($) + "x")', number),
  from('[$ | 0, $ >>> 3, Math.imul($, $)]', number, number, number, number),
  from(
    'Math.$($)',
    list(['round', 'floor', 'ceil', 'trunc', 'fround', 'clz32', 'sign', 'abs', 'sqrt']),
    number,
  ),
  from(
    '($n * $n - $n) $ $n',
    big,
    big,
    big,
    list(['%', '/', '&', '|', '^']),
    fc.bigInt({ min: 0n, max: 2n ** 40n }).map(String),
  ),
  from('BigInt.as$N($, $n)', list(['Int', 'Uint']), fc.nat(80).map(String), big),
  from(
    '$.$($, $)',
    text,
    list(['slice', 'substring', 'padStart', 'padEnd', 'indexOf', 'lastIndexOf', 'startsWith']),
    list(['"a"', '1', '5', '-2']),
    list(['"ab"', '3', '0']),
  ),
  from(
    '$.$()',
    text,
    list(['toUpperCase', 'toLowerCase', 'trim', 'normalize', 'isWellFormed', 'toWellFormed']),
  ),
  from('[...$].length + $.split("").reverse().join("")', text, text),
  from('(x = $)', value),
  from('(x += $)', text),
);

const statement = fc.oneof(arrays, collections, typed, expressions, dates, json, numbersAndTexts);
const program = fc.array(statement, { minLength: 1, maxLength: 25 }).map((statements) => {
  const steps = statements.map((code) => `step(() => ${code.startsWith('{') ? code : `(${code})`});`);
  const end = 'step(() => [a, b, m, s, t, d]);';
  return `(() => { 'use strict'; ${PRELUDE}\n${[...steps, end].join('\n')}\nreturn out.join('\\n'); })()`;
});

/** Programs after which the engine is started again, so that a case hardly depends on earlier ones. */
const RESTART_AFTER = 500;

export const quickJsAgainstNode: FuzzTarget = {
  name: 'quickjs-against-node',
  shortRuns: 300,
  open() {
    const binary = quickJsBinary();
    let engine = bareEngine(binary);
    let count = 0;
    const outcomes = { errors: 0, values: 0 };
    return {
      property: fc.property(program, (code) => {
        if (++count % RESTART_AFTER === 0) engine = bareEngine(binary);
        const expected = runInThisContext(code) as string;
        outcomes[/^[A-Z]\w+Error$/m.test(expected) ? 'errors' : 'values']++;
        const { value: found, text: error } = engine.evaluate(code);
        assert.equal(found ?? error, expected);
      }),
      checkCoverage: () => assert.ok(outcomes.errors > 20 && outcomes.values > 20, JSON.stringify(outcomes)),
    };
  },
};
