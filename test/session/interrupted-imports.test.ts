/**
 * A limit that is reached during an import leaves no half-loaded module behind: the call is rolled back, and the next import
 * works. Wheels are in the folder that PIP_FIND_LINKS names.
 */
import fc from 'fast-check';
import { createSandbox, type RuntimeName, type SandboxResult, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import '../support/property-seed.ts';
import { availableWheel } from '../packages/available-wheels.ts';
import { isNightly, repetitions } from '../support/repetitions.ts';
import { code } from '../support/sandbox.ts';

const SAYS = /^The call was stopped during an import\. .* were undone/;

interface Import {
  readonly runtime: RuntimeName;
  /** Imports the module and ends with an expression that uses it. */
  readonly program: string;
  readonly result: unknown;
  /** About the fuel of the import: the budgets are below it. */
  readonly fuel: number;
  readonly files?: Record<string, string>;
}

const COUNTING = 'for (let i = 0; i < 10_000; i++) count.n++;';
const IMPORTS: Record<string, Import> = {
  'a package of Python': {
    runtime: 'python',
    program:
      'import xml.dom.minidom as dom\ndom.parseString("<a><b/></a>").documentElement.firstChild.tagName',
    result: 'b',
    fuel: 40_000_000,
  },
  'a package of the workspace': {
    runtime: 'python',
    program: 'import own.part\nown.part.total',
    result: 19_900,
    fuel: 8_000_000,
    files: {
      'own/__init__.py': 'from . import part\nfor i in range(20_000): pass',
      'own/part.py': 'total = 0\nfor i in range(200): total += i',
    },
  },
  'a Node.js module': {
    runtime: 'javascript',
    program: "const fs = require('fs');\ntypeof fs.readFileSync",
    result: 'function',
    fuel: 20_000_000,
  },
  'a vendored package': {
    runtime: 'javascript',
    program: "import _ from 'lodash';\n_.chunk([1, 2, 3], 2)",
    result: [[1, 2], [3]],
    fuel: 35_000_000,
  },
  'a CommonJS file': {
    runtime: 'javascript',
    program: "const count = require('./own.js');\ncount.n",
    result: 10_000,
    fuel: 12_000_000,
    files: { 'own.js': `const count = module.exports = { n: 0 };\n${COUNTING}` },
  },
  'an ES module': {
    runtime: 'javascript',
    program: "import { count } from './own.js';\ncount.n",
    result: 10_000,
    fuel: 12_000_000,
    files: { 'own.js': `export const count = { n: 0 };\n${COUNTING}` },
  },
};

const smallestBudget = 100_000;

/** Runs the import with random budgets, each in a fork of the session, and again without a limit. */
async function interruptRandomly(session: Session, one: Import, runs: number): Promise<SandboxResult[]> {
  const stopped: SandboxResult[] = [];
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: smallestBudget, max: one.fuel }), async (fuel_budget) => {
      await using fork = await session.fork();
      const first = await fork.execute(one.program, { fuel_budget });
      if (!first.success) stopped.push(first);
      const { metadata, stderr } = await fork.execute(one.program, { fuel_budget: 100_000_000_000 });
      expect([stderr, metadata.result]).toEqual(['', one.result]);
      const kept = await fork.execute('kept');
      expect(kept.metadata.result).toBe('before');
    }),
    { numRuns: runs },
  );
  return stopped;
}

const assignment: Partial<Record<RuntimeName, string>> = {
  python: "kept = 'before'",
  javascript: "var kept = 'before'",
};

describe('an import that a limit stops', () => {
  test.each(Object.entries(IMPORTS))('works in the next call: %s', async (_, one) => {
    const session = await createSandbox({ runtime: one.runtime, auto_persist_globals: true });
    await session.execute(assignment[one.runtime]!, { files: one.files ?? {} });
    const stopped = await interruptRandomly(session, one, repetitions(5, 60));
    await session.close();
    const noted = stopped.filter(({ metadata }) => metadata.notes !== undefined);
    expect(noted.length).toBeGreaterThan(0);
    for (const { metadata } of noted) {
      expect(metadata.state).toBe('rolled_back');
      expect(metadata.notes!.join()).toMatch(SAYS);
    }
  });

  test('is rolled back even if the program catches the exception', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const caught = code`
      try:
          import xml.dom.minidom
      except BaseException:
          x = 1
    `;
    const { metadata } = await session.execute(caught, { fuel_budget: 5_000_000 });
    expect(metadata).toMatchObject({ trap_reason: 'out_of_fuel', state: 'rolled_back' });
    const after = await session.execute("import xml.dom.minidom\n'x' in globals()");
    expect(after.metadata).toMatchObject({ result: false, state: 'committed' });
  });

  test('is rolled back if the memory runs out, and leaves no module behind', async () => {
    await using session = await createSandbox({
      runtime: 'python',
      auto_persist_globals: true,
      policy: { memory_bytes: 64 * 2 ** 20, timeout_seconds: 100 },
    });
    await session.execute(code`
      filled = []
      try:
          while True: filled.append(bytearray(2 ** 20))
      except MemoryError:
          del filled[-3:]
    `);
    const { metadata } = await session.execute('import sympy');
    expect(metadata).toMatchObject({ error: { type: 'MemoryError' }, state: 'rolled_back' });
    expect(metadata.notes?.join()).toMatch(SAYS);
    const loaded = "import sys\n[name for name in sys.modules if name.startswith('sympy')]";
    expect((await session.execute(loaded)).metadata.result).toEqual([]);
  });

  test('is not listed among the imports of the session', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await session.execute('import openpyxl', { fuel_budget: 20_000_000 });
    expect(session.session.imports).toEqual([]);
  });

  test('does not roll back a call that was stopped after its imports', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const { metadata } = await session.execute('import xml.dom.minidom\nx = 1\nwhile True: pass', {
      fuel_budget: 100_000_000,
    });
    expect(metadata).toMatchObject({ trap_reason: 'out_of_fuel', state: 'committed' });
    expect(metadata.notes).toBeUndefined();
    expect((await session.execute('x')).metadata.result).toBe(1);
  });
});

const LARGE_IMPORTS: readonly (Import & { readonly wheels: readonly string[] })[] = [
  {
    wheels: ['numpy', 'pandas'],
    program: 'import pandas\nint(pandas.Series([1, 2]).sum())',
    result: 3,
    fuel: 4_000_000_000,
  },
  { wheels: ['numpy'], program: 'import numpy\nint(numpy.arange(4).sum())', result: 6, fuel: 900_000_000 },
  { wheels: ['lxml'], program: "import lxml.etree as e\ne.XML('<a/>').tag", result: 'a', fuel: 60_000_000 },
  {
    wheels: [],
    program: 'import sympy\nstr(sympy.factorint(12))',
    result: '{2: 2, 3: 1}',
    fuel: 4_000_000_000,
  },
  {
    wheels: [],
    program: 'import openpyxl\nopenpyxl.Workbook().active.title',
    result: 'Sheet',
    fuel: 550_000_000,
  },
].map((one) => ({ ...one, runtime: 'python' as const }));

describe.runIf(isNightly)('a large import that a limit stops', () => {
  test.each(LARGE_IMPORTS)(
    'works in the next call: $program',
    async (one) => {
      const wheels = one.wheels.map(availableWheel);
      if (wheels.includes(undefined)) return;
      await using session = await createSandbox({
        runtime: 'python',
        packages: wheels.map((path) => path!),
        auto_persist_globals: true,
        policy: { timeout_seconds: 100, memory_bytes: 512 * 2 ** 20 },
      });
      await session.execute(assignment.python!);
      await interruptRandomly(session, one, 20);
    },
    900_000,
  );
});
