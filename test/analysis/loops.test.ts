/** Which loops of a program are found to be endless from their source, and from the variables of a run. */
import { describe, expect, test } from 'vitest';
import { examineLoop } from '../../packages/core/src/analysis/loop-progress.ts';
import type { RuntimeName } from '../../packages/core/src/schema.ts';
import { READERS } from './inputs.ts';

const loopsOf = (runtime: RuntimeName, code: string) =>
  READERS[runtime].examine(code, { language: runtime, isStopped: true, error: undefined })!.loops;

/** Programs, and the lines of their endless loops. */
const PROGRAMS: Record<string, [RuntimeName, string, number[]]> = {
  'a constant condition': ['python', 'n = 0\nwhile True:\n  n += 1\n', [2]],
  'a generator with a loop that never ends': [
    'python',
    'def numbers():\n  n = 0\n  while True:\n    yield n\n    n += 1\nfor x in numbers():\n  print(x)\n',
    [6],
  ],
  'a generator on one line': ['python', 'def ones():\n  while True: yield 1\nprint(sum(ones()))\n', [3]],
  'a generator that ends if it has a limit': [
    'python',
    'def numbers(limit=None):\n  if limit is None:\n    n = 0\n    while True:\n      yield n\n      n += 1\n  for i in range(limit): yield i\nfor x in numbers(3_000_000):\n  pass\n',
    [],
  ],
  'a generator with an endless loop in a branch': [
    'python',
    'def numbers(limit):\n  if limit is None:\n    while True: yield 1\nfor x in numbers(3):\n  pass\n',
    [],
  ],
  'a generator with a yield after its loop': [
    'python',
    'def numbers(limit):\n  yield 0\n  while True: yield 1\nfor x in numbers(3):\n  pass\n',
    [],
  ],
  'two functions of the same name': [
    'python',
    'class A:\n  def numbers(self):\n    while True: yield 1\ndef numbers():\n  return [1]\nfor x in numbers():\n  pass\n',
    [],
  ],
  'a comprehension over an endless generator': [
    'python',
    'def squares():\n  while True: yield 1\nfound = [s for s in squares() if s > 2]\n',
    [3],
  ],
  'a membership test in a comprehension': [
    'python',
    'def squares():\n  while True: yield 1\nfound = [s for s in known if s in squares()]\nfound = [s for s in known if s > 1 and not s in squares()]\n',
    [],
  ],
  'a call in a try that can raise': ['python', 'try:\n  while True:\n    step()\nexcept Done:\n  pass\n', []],
  'an index in a try that can raise': [
    'python',
    'try:\n  while True:\n    total += items[i]\n    i += 1\nexcept IndexError:\n  pass\n',
    [],
  ],
  'a generator in a try that can raise': [
    'python',
    'def chunks():\n  while True: yield read()\ntry:\n  for chunk in chunks():\n    pass\n  data = list(chunks())\nexcept EOFError:\n  pass\n',
    [],
  ],
  'a call in a function that is called in a try': [
    'python',
    'def step():\n  raise Done\ndef main():\n  while True:\n    step()\ntry:\n  main()\nexcept Done:\n  pass\n',
    [],
  ],
  'a call in a program that raises nothing': [
    'python',
    'def main():\n  while True:\n    step()\ntry:\n  main()\nexcept KeyboardInterrupt:\n  pass\n',
    [2],
  ],
  'a try without anything that can raise': [
    'python',
    'try:\n  while True:\n    n += 1\n    print(n)\nexcept KeyboardInterrupt:\n  pass\n',
    [2],
  ],
  'a call in a try that only handles interrupts': [
    'python',
    'try:\n  while True:\n    step()\nexcept KeyboardInterrupt:\n  pass\nfinally:\n  close()\n',
    [2],
  ],
  'a try that handles more than interrupts': [
    'python',
    'try:\n  while True:\n    step()\nexcept KeyboardInterrupt:\n  pass\nexcept Done:\n  pass\ntry:\n  while True:\n    step()\nexcept (KeyboardInterrupt, Done):\n  pass\ntry:\n  while True:\n    step()\nexcept KeyboardInterrupt, Done:\n  pass\n',
    [],
  ],
  'an interrupt that the program raises': [
    'python',
    'def step():\n  if done(): raise KeyboardInterrupt\ntry:\n  while True:\n    step()\nexcept KeyboardInterrupt:\n  pass\n',
    [],
  ],
  'exceptions that a context manager suppresses': [
    'python',
    'from contextlib import suppress\nwith suppress(IndexError):\n  while True:\n    total += items[i]\n    i += 1\n',
    [],
  ],
  'calls, in a try, to functions that raise nothing': [
    'python',
    'def add(n):\n  return n + 1\ndef step(n):\n  if n % 2 == 0:\n    print(n)\n  return add(n)\ntry:\n  while True:\n    n = step(n)\nexcept ValueError:\n  pass\n',
    [8],
  ],
  'calls, in a try, to functions that can raise': [
    'python',
    [
      'return items[n]',
      'return n / m',
      'return n ** 2.0',
      'assert n < 10',
      'return node.next',
      'return other(n)',
      'return step(n + 1)',
      'a, b = pair',
      'return next(source)',
    ]
      .map(
        (body) =>
          `def step(n):\n  ${body}\ntry:\n  while True:\n    n = step(n)\nexcept Exception:\n  pass\n`,
      )
      .map((code, i) => code.replaceAll('step', `step${i}`))
      .join(''),
    [],
  ],
  'calls, in a try, to a function that is replaced or decorated': [
    'python',
    'def step():\n  pass\nstep = wrap(step)\n@wrap\ndef move():\n  pass\ndef run(go):\n  try:\n    while True:\n      go()\n  except Done:\n    pass\ndef go():\n  pass\ntry:\n  while True:\n    step()\nexcept Done:\n  pass\ntry:\n  while True:\n    move()\nexcept Done:\n  pass\n',
    [],
  ],
  'an attribute in a try that can raise': [
    'python',
    'try:\n  while True:\n    node = node.next\nexcept AttributeError:\n  pass\n',
    [],
  ],
  'a try inside of the loop': [
    'python',
    'def read(n):\n  if n < 0: raise ValueError\n  return n\ndef main():\n  while True:\n    try:\n      read(-1)\n    except ValueError:\n      continue\nmain()\n',
    [5],
  ],
  'a function that ends the program': [
    'python',
    'import sys\ndef step(n):\n  if n > 10**7: sys.exit()\nwhile True:\n  n += 1\n  step(n)\nwhile True:\n  n += 1\n',
    [7],
  ],
  'a JavaScript function that ends the program': [
    'javascript',
    'function step(n) { if (n > 1e7) process.exit(); }\nwhile (true) {\n  step(n++);\n}\nwhile (true) {\n  n++;\n}\n',
    [5],
  ],
  'a loop after a try': ['python', 'try:\n  step()\nexcept Done:\n  pass\nwhile True:\n  step()\n', [5]],
  'an endless generator in JavaScript': [
    'javascript',
    'function* numbers() {\n  let n = 0\n  while (true) yield n++\n}\nfor (const n of numbers()) {}\nconst all = [...numbers()];\n',
    [5, 6],
  ],
  'a JavaScript generator that ends if it has a limit': [
    'javascript',
    'function* numbers(limit) {\n  if (limit === undefined) {\n    while (true) yield 1;\n  }\n  for (let i = 0; i < limit; i++) yield i;\n}\nfor (const n of numbers(3)) {}\n',
    [],
  ],
  'a JavaScript generator with an endless loop under a condition': [
    'javascript',
    'function* numbers(limit) {\n  if (limit === undefined)\n    while (true) yield 1;\n}\nfor (const n of numbers(3)) {}\nconst all = [...numbers(3)];\n',
    [],
  ],
  'promises that can be rejected': [
    'javascript',
    'while (true) {\n  await Promise.all([next(), next()]);\n}\nwhile (true) {\n  await Promise.resolve(next());\n}\nwhile (true) {\n  await new Promise((resolve, reject) => read(resolve, reject));\n}\n',
    [],
  ],
  'promises that only wait': [
    'javascript',
    'while (true) {\n  await Promise.resolve();\n}\nwhile (true) {\n  await new Promise((resolve) => setTimeout(resolve, 0));\n}\nwhile (true) {\n  await new Promise(r => { setTimeout(r); });\n}\nwhile (true) {\n  await null;\n}\n',
    [1, 4, 7, 10],
  ],
  'a JavaScript call in a try that can throw': [
    'javascript',
    'try {\n  while (true) {\n    step();\n  }\n} catch {}\n',
    [],
  ],
  'a JavaScript call in a function that is called in a try': [
    'javascript',
    'function step() {\n  throw new Done();\n}\nconst main = () => {\n  while (true) {\n    step();\n  }\n};\ntry {\n  main();\n} catch {}\nwhile (true) {\n  step();\n}\n',
    [12],
  ],
  'a JavaScript try without anything that can throw': [
    'javascript',
    'try {\n  for (;;) {\n    n += Math.sqrt(n);\n    console.log(n);\n  }\n} catch {}\nwhile (true) {\n  step();\n}\n',
    [2, 7],
  ],
};

describe('endless loops in the source', () => {
  test.each(Object.entries(PROGRAMS))('are found for %s', (_, [runtime, code, lines]) => {
    const loops = loopsOf(runtime, code).filter(({ isInfinite }) => isInfinite);
    // The loop of a generator is not reported: the caller decides how often it continues.
    expect(loops.map(({ line }) => line)).toEqual(lines);
  });
});

type Values = Record<string, (step: number) => number>;

/** A loop, the values of its variables by sample, and whether it is endless. */
const RUNS: Record<string, [RuntimeName, string, Values, 'endless' | 'progressing' | 'unknown']> = {
  'a search whose counter moves away from its condition': [
    'python',
    'first = next(n for n in itertools.count(1) if n < 0)\n',
    { n: (step) => 5 + step },
    'endless',
  ],
  'a search that has passed the only number': [
    'python',
    'first = next((n for n in count(0, 2) if n == 7), None)\n',
    { n: (step) => 100 + 2 * step },
    'endless',
  ],
  'a search that approaches its condition': [
    'python',
    'first = next(n * n for n in itertools.count() if n >= 10**9)\n',
    { n: (step) => 5 + step },
    'progressing',
  ],
  'a search downwards': [
    'python',
    'first = next(n for n in count(10, -1) if n < -1_000_000)\n',
    { n: (step) => 5 - step },
    'progressing',
  ],
  'a search whose variable is unknown': [
    'python',
    'first = next(n for n in count() if n < 0)\n',
    { limit: () => 5 },
    'unknown',
  ],
  'a counter in the wrong direction': ['python', 'while i > 0:\n  i += 1\n', { i: (n) => 5 + n }, 'endless'],
  'a bound that every iteration moves': [
    'python',
    'while low < high:\n  low += 1\n  high += 1\n',
    { low: (n) => n, high: (n) => 10 + n },
    'endless',
  ],
  'a queue whose end moves for new items': [
    'python',
    'while head < tail:\n  u = q[head]\n  head += 1\n  for v in edges[u]:\n    if not seen[v]:\n      q[tail] = v\n      tail += 1\n',
    { head: (n) => n, tail: (n) => 10 + 3 * n },
    'progressing',
  ],
  'the same queue, compared the other way round': [
    'javascript',
    'while (tail > head) {\n  const u = q[head++];\n  for (const v of edges[u]) if (!seen[v]) q[tail++] = v;\n}\n',
    { head: (n) => n, tail: (n) => 10 + 3 * n },
    'progressing',
  ],
  'a queue whose end a function moves': [
    'python',
    'while head < tail:\n  visit(q[head])\n  head += 1\n',
    { head: (n) => n, tail: (n) => 10 + 3 * n },
    'progressing',
  ],
  'a stack that grows first': [
    'javascript',
    'while (top > 0) {\n  const u = stack[--top];\n  for (const v of edges[u]) if (!seen[v]) stack[top++] = v;\n}\n',
    { top: (n) => 1 + n },
    'progressing',
  ],
};

/** Loops over items with the texts of two variables, and the remaining fuel. */
const ITEMS: Record<string, [RuntimeName, string, Record<string, (step: number) => string>, number?]> = {
  'an enumerated list': [
    'python',
    'for i, row in enumerate(rows):\n  work(row)\n',
    { i: (n) => String(10 + n), rows: () => '[1, … 100 items]', row: (n) => String(n) },
    85_000,
  ],
  'a list of results': [
    'python',
    'for row in rows:\n  out.append(work(row))\n',
    { row: (n) => String(n), rows: () => '[1, … 100 items]', out: (n) => `[1, … ${10 + n} items]` },
    85_000,
  ],
  'an array of results': [
    'javascript',
    'for (const row of rows) {\n  out.push(work(row));\n}\n',
    { row: (n) => String(n), rows: () => '[1, … 100 items]', out: (n) => `[1, … ${10 + n} items]` },
    85_000,
  ],
  'results that only some items have': [
    'python',
    'for row in rows:\n  if work(row):\n    out.append(row)\n',
    { row: (n) => String(n), rows: () => '[1, … 100 items]', out: (n) => `[1, … ${10 + n} items]` },
  ],
  'results that were there before': [
    'python',
    'for row in rows:\n  out.append(work(row))\n',
    { row: (n) => String(n), rows: () => '[1, … 100 items]', out: (n) => `[1, … ${60 + n} items]` },
  ],
};

describe('a loop over items', () => {
  test.each(Object.entries(ITEMS))(
    'shows how much fuel the rest needs for %s',
    (_, [runtime, code, values, rest]) => {
      const loop = loopsOf(runtime, code)[0]!;
      const samples = [0, 1, 2, 3, 4, 5].map((n) => {
        const variables = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value(n)]));
        return { fuel: (10 + n) * 1000, own: variables, variables };
      });
      const finding = examineLoop(loop, samples);
      expect(finding).toMatchObject({ kind: 'progressing' });
      expect(finding.kind === 'progressing' ? finding.progress?.remainingFuel : -1).toBe(rest);
    },
  );
});

describe('variables of a loop', () => {
  test.each(Object.entries(RUNS))('show the progress of %s', (_, [runtime, code, values, kind]) => {
    const loop = loopsOf(runtime, code)[0]!;
    const samples = [0, 1, 2, 3, 4, 5].map((n) => {
      const variables = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, String(value(n))]),
      );
      return { fuel: n * 1000, own: variables, variables };
    });
    expect(examineLoop(loop, samples).kind).toBe(kind);
  });
});
