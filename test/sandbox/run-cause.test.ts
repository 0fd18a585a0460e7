/** Why a run reached its limit: the causes that the samples show, and expensive runs for which none is claimed. */
import { createSandbox, type RuntimeName, type Sandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { formatFuel } from '../../packages/core/src/quantities.ts';
import { sharedByFile } from '../support/shared.ts';

const sandboxes: Partial<Record<RuntimeName, Sandbox>> = {
  python: await sharedByFile(createSandbox({ runtime: 'python' })),
  javascript: await sharedByFile(createSandbox({ runtime: 'javascript' })),
};

interface Program {
  readonly runtime: RuntimeName;
  readonly code: string;
  readonly cause?: string;
  /** A part of the guidance. */
  readonly says?: string;
}

const PROGRAMS: Record<string, Program> = {
  'a sequence that enters a cycle': {
    runtime: 'python',
    code: 'n = 5\nsteps = 0\nwhile n != 1:\n    n = 3 * n - 1 if n % 2 else n // 2\n    steps += 1\n',
    cause: 'probably_endless',
    says: 'at line 3: while n != 1: (n repeats the values',
  },
  'a cycle in an outer loop with a finite inner loop': {
    runtime: 'python',
    code: 'def work(k):\n    t = 0\n    for i in range(k):\n        t += i\n    return t\nx = 1\nwhile x > 0:\n    work(300)\n    x = 3 - x\n',
    cause: 'probably_endless',
    says: 'at line 7: while x > 0:',
  },
  'a counter in the wrong direction': {
    runtime: 'javascript',
    code: 'const last = [];\nfor (let i = 5; i > 0; i++) {\n  last[0] = i;\n}\n',
    cause: 'probably_endless',
    says: 'i moves away from 0',
  },
  'a flag that nothing sets': {
    runtime: 'javascript',
    code: 'let done = false;\nsetTimeout(() => { done = true; }, 1);\nwhile (!done) {\n}\n',
    cause: 'probably_endless',
    says: 'at line 3: while (!done) (done stays at false)',
  },
  'exponential recursion': {
    runtime: 'javascript',
    code: 'function fib(n) {\n  return n < 2 ? n : fib(n - 1) + fib(n - 2);\n}\nfib(40);\n',
    cause: 'exponential_recursion',
    says: 'Memoize',
  },
  'exponential recursion in a loop': {
    runtime: 'python',
    code: 'def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\nfor i in range(25, 40):\n    fib(i)\n',
    cause: 'exponential_recursion',
    says: 'fib calls itself 2 times per call (line 4)',
  },
  'data that takes a lot of memory': {
    runtime: 'python',
    code: 'rows = []\nfor i in range(10_000_000):\n    rows.append("x" * 5000 + str(i))\n',
    cause: 'large_data',
  },
  'a long text': {
    runtime: 'javascript',
    code: "const text = 'ab '.repeat(50_000);\nlet n = 0;\nwhile (n < 1e7) {\n  n += text.indexOf('b', n % 100) > 0 ? 1 : 2;\n}\n",
    cause: 'large_data',
    says: 'fuel_budget=',
  },
  'a loop with a constant condition that nothing leaves': {
    runtime: 'python',
    code: 'n = 0\nwhile True:\n    n += 1\n',
    cause: 'probably_endless',
    says: 'at line 2: while True: (its condition is always true, and no statement leaves the loop)',
  },
  'a loop without a condition that nothing leaves': {
    runtime: 'javascript',
    code: 'let n = 0;\nfor (;;) {\n  n += Math.sqrt(n);\n}\n',
    cause: 'probably_endless',
    says: 'at line 2: for (;;) (its condition is always true',
  },
  'a loop with a constant condition that a statement leaves': {
    runtime: 'javascript',
    code: 'let n = 0;\nwhile (true) {\n  n++;\n  if (n === 1e8) break;\n}\n',
  },
  'a generator that never ends': {
    runtime: 'python',
    code: 'def numbers():\n    n = 0\n    while True:\n        n += 1\n        yield n\ntotal = 0\nfor n in numbers():\n    total += n\n    if total > 10**14: break\n',
  },
  'recursion without a base case': {
    runtime: 'python',
    code: 'def descend(n):\n    total = sum(range(1000))\n    return descend(n + total)\ndescend(0)\n',
    cause: 'deep_recursion',
    says: 'Deep recursion: descend calls itself and is',
  },
  'recursion without a base case in JavaScript': {
    runtime: 'javascript',
    code: 'function descend(n) {\n  let total = 0;\n  for (let i = 0; i < 200; i++) total += i;\n  return descend(n + 1) + total;\n}\ndescend(0);\n',
    cause: 'deep_recursion',
    says: 'reaches a base case',
  },
  'recursion beyond the depth that is counted': {
    runtime: 'python',
    code: 'import sys\nsys.setrecursionlimit(10**6)\ndef descend(n):\n    total = 0\n    for i in range(10):\n        total += i\n    return descend(n + 1)\ndescend(0)\n',
    cause: 'deep_recursion',
    says: 'descend calls itself and is at least 5000 calls deep',
  },
  'recursion that calls itself once, on the line of its definition': {
    runtime: 'javascript',
    code: 'function last(n) { let t = 0; for (let i = 0; i < 2000; i++) t += i; return n === 0 ? t : last(n - 1); }\nlet n = 0;\nwhile (n < 1e6) n += last(20) > 0 ? 1 : 2;\n',
    says: 'of the fuel was used in last',
  },
  'recursion in a comprehension that repeats its work': {
    runtime: 'python',
    code: 'def ways(n):\n    if n < 2: return 1\n    return sum(ways(n - i) for i in (1, 2))\nways(60)\n',
    cause: 'exponential_recursion',
    says: 'ways calls itself several times per call (line 3)',
  },
  'recursion in a loop that repeats its work': {
    runtime: 'javascript',
    code: 'function ways(n) {\n  if (n < 2) return 1;\n  let t = 0;\n  for (const i of [1, 2]) t += ways(n - i);\n  return t;\n}\nways(60);\n',
    cause: 'exponential_recursion',
    says: 'ways calls itself several times per call (line 4)',
  },
  'recursion in a loop that visits each node once': {
    runtime: 'python',
    code: 'def visit(node):\n    total = sum(range(node, node + 300))\n    for child in (2 * node, 2 * node + 1):\n        if child < 2**40:\n            total += visit(child)\n    return total\nvisit(1)\n',
    says: 'of the fuel was used in visit',
  },
  'a regular expression that backtracks': {
    runtime: 'javascript',
    code: "console.log(/^(\\w+\\s?)+$/.test('a'.repeat(40) + '!'));\n",
    says: 'The regular expression on line 1 probably backtracks: its pattern has nested quantifiers',
  },
  'a regular expression that backtracks over text from a variable': {
    runtime: 'python',
    code: "import re\ntext = 'a' * 40 + '!'\nprint(re.match(r'(a+)+$', text))\n",
    says: 'The regular expression on line 3 probably backtracks: its pattern has nested quantifiers',
  },
  'an import that uses most of the fuel': {
    runtime: 'python',
    code: 'import sympy\nprint(sympy.pi)\n',
    cause: 'heavy_import',
    says: 'Heavy package imports (sympy',
  },
  'a loop that needs more fuel than any practical budget': {
    runtime: 'python',
    code: 'total = 0\nfor i in range(1_000_000_000_000):\n    total += i * i\n',
    says: 'of 1000000000000: at this rate the run needs more than 1T fuel',
  },
  'a loop whose end is known': {
    runtime: 'python',
    code: 'total = 0\nfor i in range(1_000_000):\n    total += i * i\n',
    says: 'of 1000000: at this rate the run needs about',
  },
  'nested loops that make progress': {
    runtime: 'javascript',
    code: 'let best = 0;\nconst size = 5000;\nfor (let i = 0; i < size; i++) {\n  for (let j = 0; j < size; j++) {\n    if (i * j > best) best = i * j;\n  }\n}\n',
    says: 'i had reached',
  },
  'trial division': {
    runtime: 'python',
    code: 'def is_prime(n):\n    for d in range(2, n):\n        if n % d == 0:\n            return False\n    return True\nprimes = [n for n in range(200_000) if is_prime(n)]\n',
    says: 'of the fuel was used in is_prime',
  },
  'sorting with a flag': {
    runtime: 'python',
    code: 'items = [(i * 7919) % 1009 for i in range(1009)]\nswapped = True\nwhile swapped:\n    swapped = False\n    for i in range(len(items) - 1):\n        if items[i] > items[i + 1]:\n            items[i], items[i + 1] = items[i + 1], items[i]\n            swapped = True\n',
  },
  'a loop whose condition calls a method': {
    runtime: 'python',
    code: 'class Game:\n    turn = 0\n    def is_over(self):\n        return self.turn > 10**7\n    def step(self):\n        self.turn += 1\ngame = Game()\nwhile not game.is_over():\n    game.step()\n',
  },
  'a breadth-first search': {
    runtime: 'python',
    code: 'from collections import deque\nn = 1500\nseen = {(0, 0)}\nq = deque(seen)\nwhile q:\n    x, y = q.popleft()\n    for p in ((x + 1, y), (x, y + 1)):\n        if max(p) < n and p not in seen:\n            seen.add(p)\n            q.append(p)\n',
  },
  'merge sort': {
    runtime: 'python',
    code: 'def msort(items):\n    if len(items) < 2:\n        return items\n    mid = len(items) // 2\n    left = msort(items[:mid])\n    right = msort(items[mid:])\n    out = []\n    while left and right:\n        out.append((left if left[-1] > right[-1] else right).pop())\n    return (left + right) + out[::-1]\nmsort([3, 1, 2, 0] * 8000)\n',
  },
  'nested loops of which the outermost is in its first iteration': {
    runtime: 'javascript',
    code: 'const n = 500;\nlet total = 0;\nfor (let i = 0; i < n; i++) {\n  for (let j = 0; j < n; j++) {\n    for (let k = 0; k < n; k++) {\n      total += i * j * k;\n    }\n  }\n}\n',
    says: 'i had reached 0 of 500 and j',
  },
  'a loop in its first iteration that calls a function': {
    runtime: 'javascript',
    code: 'const rows = Array.from({ length: 9000 }, (_, i) => [i, i]);\nconst sum = (rows) => rows.map((row) => row.map((x) => rows.filter((y) => y[0] < x).length));\nfor (let g = 0; g < 10; g++) sum(rows);\n',
  },
  'backtracking with a board that is not an argument': {
    runtime: 'python',
    code: 'n = 10\nboard = [0] * n\ndef free(row, col):\n    return all(board[r] != col and abs(board[r] - col) != row - r for r in range(row))\ndef solve(row):\n    for col in range(n):\n        if row < n and free(row, col):\n            board[row] = col\n            solve(row + 1)\nsolve(0)\n',
  },
  'recursion that collects its results in a list': {
    runtime: 'javascript',
    code: "const moves = [];\nfunction hanoi(n, a, b, c) {\n  if (n === 0) return;\n  hanoi(n - 1, a, c, b);\n  moves.push([a, b]);\n  hanoi(n - 1, c, b, a);\n}\nhanoi(24, 'A', 'B', 'C');\n",
  },
  'exponential recursion with an argument that is passed on': {
    runtime: 'python',
    code: 'def cut(prices, n):\n    best = 0\n    for i in range(1, n + 1):\n        best = max(best, prices[i - 1] + cut(prices, n - i))\n    return best\nprint(cut(list(range(30)), 30))\n',
    cause: 'exponential_recursion',
    says: 'cut calls itself several times per call (line 4)',
  },
  'an expression over an endless iterator': {
    runtime: 'python',
    code: 'import itertools\nprint(sum(x for x in itertools.count()))\n',
    cause: 'probably_endless',
    says: 'Solution: Take a limited number of items from itertools.count()',
  },
  'an endless iterator that another function limits': {
    runtime: 'python',
    code: 'import itertools\nprint(sum(itertools.takewhile(lambda n: n < 10**9, itertools.count())))\n',
  },
  'a search for a number that does not exist': {
    runtime: 'python',
    code: 'import itertools\nprint(next(n for n in itertools.count(1) if n < 0))\n',
    cause: 'probably_endless',
    says: 'n moves away from 0',
  },
  'a search for a large number': {
    runtime: 'python',
    code: 'from itertools import count\nprint(next(n for n in count() if n > 5_000_000))\n',
    says: 'of 5000000: at this rate the run needs about',
  },
  'a loop in a try that calls a function that raises nothing': {
    runtime: 'python',
    code: 'def step(n):\n    return n + 1\nn = 0\ntry:\n    while True:\n        n = step(n)\nexcept ValueError:\n    pass\n',
    cause: 'probably_endless',
    says: 'at line 5: while True:',
  },
  'a function that ends the program later': {
    runtime: 'python',
    code: 'import sys\ndef step(n):\n    if n > 10**7: sys.exit()\nn = 0\nwhile True:\n    n += 1\n    step(n)\n',
  },
  'a loop that collects one result for each item': {
    runtime: 'python',
    code: 'rows = list(range(4000))\nresults = []\nfor row in rows:\n    results.append(sum(range(row % 7 + 2000)))\n',
    says: 'of 4000: at this rate the run needs about',
  },
  'a generator of the program that never ends': {
    runtime: 'javascript',
    code: 'function* numbers() {\n  let n = 0;\n  while (true) yield n++;\n}\nconst first = [...numbers()].slice(0, 10);\n',
    cause: 'probably_endless',
    says: 'at line 5: const first = [...numbers()].slice(0, 10); (numbers() never ends',
  },
  'a task that only lets others run': {
    runtime: 'python',
    code: 'import asyncio\nasync def main():\n    while True:\n        await asyncio.sleep(0)\nasyncio.run(main())\n',
    cause: 'probably_endless',
    says: 'at line 3: while True:',
  },
  'an async function that only awaits a constant': {
    runtime: 'javascript',
    code: 'async function main() {\n  while (true) {\n    await null;\n  }\n}\nmain();\n',
    cause: 'probably_endless',
    says: 'at line 2: while (true)',
  },
  'an async function that leaves its loop later': {
    runtime: 'javascript',
    code: 'let n = 0;\nasync function main() {\n  while (true) {\n    await null;\n    if (n++ > 1e7) break;\n  }\n}\nmain();\n',
  },
  'a condition with a variable of an enclosing function': {
    runtime: 'javascript',
    code: 'function start() {\n  let isDone = false;\n  let n = 0;\n  const check = () => { if (n++ > 1e8) isDone = true; };\n  const run = () => {\n    while (!isDone) check();\n  };\n  run();\n}\nstart();\n',
  },
  'tasks that wait for work': {
    runtime: 'python',
    code: 'import asyncio\nasync def worker(queue):\n    while True:\n        item = await queue.get()\n        sum(range(item))\n        queue.task_done()\nasync def main():\n    queue = asyncio.Queue()\n    for i in range(20_000): queue.put_nowait(i)\n    asyncio.create_task(worker(queue))\n    await queue.join()\nasyncio.run(main())\n',
  },
  'a list that grows while it is iterated': {
    runtime: 'python',
    code: 'items = [1, 2, 3]\nfor x in items:\n    items.append(x)\n',
    cause: 'probably_endless',
    says: 'Solution: Iterate over a copy of items',
  },
  'an array that grows as fast as its index': {
    runtime: 'javascript',
    code: 'const a = [1, 2, 3];\nfor (let i = 0; i < a.length; i++) {\n  a.push(a[i]);\n}\n',
    cause: 'probably_endless',
    says: 'Solution: Iterate over a copy of a,',
  },
  'recursion over a tree': {
    runtime: 'python',
    code: 'class Node:\n    def __init__(self, depth):\n        self.left = Node(depth - 1) if depth else None\n        self.right = Node(depth - 1) if depth else None\nNode(17)\n',
  },
};

/** The results of the programs, which several tests check. */
const results = new Map<Program, PromiseLike<SandboxResult>>();
const LIMITS = { fuel_budget: 60_000_000 };
function resultOf(program: Program): PromiseLike<SandboxResult> {
  const result = results.get(program) ?? sandboxes[program.runtime]!.execute(program.code, LIMITS);
  results.set(program, result);
  return result;
}

const textOf = ({ metadata }: SandboxResult) => metadata.error_guidance!.actionable_guidance.join('\n');

describe('cause of a reached fuel limit', () => {
  test.each(Object.entries(PROGRAMS))('is right for %s', async (_, program) => {
    const { cause, says } = program;
    const result = await resultOf(program);
    expect(result.metadata.trap_reason).toBe('out_of_fuel');
    const analysis = result.metadata.fuel_analysis!;
    expect(analysis.cause).toBe(cause);
    expect(textOf(result)).toContain(says ?? '');
    expect(textOf(result)).not.toMatch(/<\w+ #\d+>/);
    const needsCodeChange = cause !== undefined && cause !== 'large_data' && cause !== 'heavy_import';
    const needsTooMuch = /more than 1T fuel|backtracks/.test(says ?? '');
    expect(/fuel_budget=|large dataset/.test(textOf(result))).toBe(!needsCodeChange && !needsTooMuch);
    // docs/specification.md has this text whenever its condition holds; the cause with evidence comes first.
    expect(
      analysis.likely_causes.includes(
        'Complex data processing or large dataset detected (a guess: most of the budget was used without a heavy import)',
      ),
    ).toBe(cause !== 'heavy_import');
    if (needsCodeChange) expect(textOf(result)).toContain(analysis.likely_causes[0]!.slice(0, 60));
  });

  test.each([
    'an async function that only awaits a constant',
    'an async function that leaves its loop later',
    'a task that only lets others run',
  ])('does not depend on the place where the fuel runs out for %s', async (name) => {
    const { runtime, code, cause } = PROGRAMS[name]!;
    for (let i = 0; i < 12; i++) {
      const { metadata } = await sandboxes[runtime]!.execute(code, { fuel_budget: 40_000_000 + i * 171_013 });
      expect(metadata.trap_reason).toBe('out_of_fuel');
      expect(metadata.fuel_analysis!.cause).toBe(cause);
    }
  });

  test.each(Object.entries(PROGRAMS))(
    'gives the same advice without guidance for %s',
    { tags: 'full' },
    async (_, program) => {
      const withGuidance = await resultOf(program);
      await using sandbox = await createSandbox({
        runtime: program.runtime,
        policy: { error_guidance: false },
      });
      const result = await sandbox.execute(program.code, LIMITS);
      expect(result.metadata.error_guidance).toBeUndefined();
      const { recommendation, likely_causes } = result.metadata.fuel_analysis!;
      const budget = /fuel_budget=([\d_]+)/.exec(textOf(withGuidance))?.[1];
      const advice =
        budget === undefined
          ? 'Change the code: more fuel does not help.'
          : `Increase budget to at least ${formatFuel(Number(budget.replaceAll('_', '')))} instructions.`;
      expect(recommendation).toContain(`Execution exceeded budget. ${advice}`);
      expect(/[Ii]ncreas/.test(recommendation!)).toBe(budget !== undefined);
      expect(likely_causes).toEqual(withGuidance.metadata.fuel_analysis!.likely_causes);
    },
  );

  test('is reported without a budget for the packages of an endless loop', { tags: 'full' }, async () => {
    const code = 'import openpyxl\nwhile True:\n    pass\n';
    const result = await sandboxes['python']!.execute(code, { fuel_budget: 3_000_000_000 });
    const { cause, recommendation, likely_causes } = result.metadata.fuel_analysis!;
    expect(cause).toBe('probably_endless');
    expect(likely_causes).toContainEqual(expect.stringContaining('Heavy package import detected: openpyxl'));
    expect(recommendation).toBe('Execution exceeded budget. See error_guidance for solutions.');
  });

  test('is found for a time limit too', async () => {
    // Few samples are enough for this one, so that the speed of the machine does not matter.
    const { code } = PROGRAMS['a loop with a constant condition that nothing leaves']!;
    const result = await sandboxes['python']!.execute(code, { timeout_seconds: 1, fuel_budget: 1e12 });
    expect(result.metadata.trap_reason).toBe('timeout');
    expect(result.metadata.fuel_analysis?.cause).toBe('probably_endless');
    expect(textOf(result)).not.toContain('timeout_seconds=');
  });
});
