/** The report of `node:test` in the Test Anything Protocol, as Node.js 20 prints it. */
import { inspect } from '../../inspect.js';

const INTERNAL = /^(?:node:|sandbox:|<)/;

/** File, line and column of the first frame of the program. */
export function locationOf(stack) {
  for (const line of `${stack}`.split('\n')) {
    const place = /\(?([^\s()]+:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !INTERNAL.test(place)) return place;
  }
  return undefined;
}

function textField(indent, name, text) {
  if (!text.includes('\n')) return `${indent}${name}: ${inspect(text)}\n`;
  const lines = text.split('\n').map((line) => `${indent}  ${line}\n`);
  return `${indent}${name}: |-\n${lines.join('')}`;
}

function field(indent, name, value) {
  if (typeof value === 'string') return textField(indent, name, value);
  if (typeof value !== 'object' || value === null) return `${indent}${name}: ${inspect(value)}\n`;
  if (value instanceof Date) return `${indent}${name}: ${value.toISOString()}\n`;
  const entries = Object.entries(value).map(([key, item]) => field(`${indent}  `, key, item));
  return `${indent}${name}:\n${entries.join('')}`;
}

function framesOf(error) {
  return `${error.stack ?? ''}`
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim().slice('at '.length))
    .filter((line) => !INTERNAL.test(/\(([^()]*)\)$/.exec(line)?.[1] ?? line));
}

function errorFields(indent, { location, failure }) {
  const { type, error } = failure;
  let fields = location === undefined ? '' : `${indent}location: ${inspect(location)}\n`;
  fields += `${indent}failureType: ${inspect(type)}\n`;
  const isError = error instanceof Error;
  const message = isError ? error.message : typeof error === 'string' ? error : inspect(error);
  fields += textField(indent, 'error', message);
  fields += `${indent}code: ${inspect(isError && typeof error.code === 'string' ? error.code : 'ERR_TEST_FAILURE')}\n`;
  if (!isError || type === 'subtestsFailed') return fields;
  if (error.name !== 'Error') fields += `${indent}name: ${inspect(error.name)}\n`;
  if (error.code === 'ERR_ASSERTION') {
    fields += field(indent, 'expected', error.expected);
    fields += field(indent, 'actual', error.actual);
    if (error.operator !== undefined) fields += `${indent}operator: ${inspect(error.operator)}\n`;
  }
  const frames = framesOf(error);
  return frames.length === 0
    ? fields
    : `${fields}${textField(indent, 'stack', `${frames.join('\n')}\n`.trimEnd())}`;
}

const escaped = (text) => text.replaceAll('\\', '\\\\').replaceAll('#', '\\#').replaceAll('\n', '\\n');

function directive({ skip, todo }) {
  const [name, reason] = skip !== false ? ['SKIP', skip] : todo !== false ? ['TODO', todo] : [];
  if (name === undefined) return '';
  return ` # ${name}${typeof reason === 'string' && reason !== '' ? ` ${escaped(reason)}` : ''}`;
}

/** The report of a test and its subtests. `number` is its position in its parent. */
export function reportTest(test, number, depth = 0) {
  const indent = '    '.repeat(depth);
  const { name, subtests, failure, duration, isSuite, diagnostics } = test;
  let text = `${indent}# Subtest: ${escaped(name)}\n`;
  for (const [i, subtest] of subtests.entries()) text += reportTest(subtest, i + 1, depth + 1);
  if (subtests.length > 0) text += `${indent}    1..${subtests.length}\n`;
  text += `${indent}${failure === undefined ? 'ok' : 'not ok'} ${number} - ${escaped(name)}${directive(test)}\n`;
  text += `${indent}  ---\n${indent}  duration_ms: ${duration}\n`;
  if (isSuite) text += `${indent}  type: 'suite'\n`;
  if (failure !== undefined) text += errorFields(`${indent}  `, test);
  text += `${indent}  ...\n`;
  for (const message of diagnostics) text += `${indent}# ${escaped(message)}\n`;
  return text;
}

function count(tests, counts) {
  for (const test of tests) {
    count(test.subtests, counts);
    if (test.isSuite) {
      counts.suites++;
      continue;
    }
    counts.tests++;
    if (test.failure?.type === 'cancelledByParent') counts.cancelled++;
    else if (test.skip !== false) counts.skipped++;
    else if (test.todo !== false) counts.todo++;
    else counts[test.failure === undefined ? 'pass' : 'fail']++;
  }
  return counts;
}

export function reportSummary(tests, diagnostics, duration) {
  const counts = count(tests, { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 });
  const lines = [...diagnostics, ...Object.entries(counts).map(([name, number]) => `${name} ${number}`)];
  lines.push(`duration_ms ${duration}`);
  return `1..${tests.length}\n${lines.map((line) => `# ${line}\n`).join('')}`;
}
