import { describe, expect, test } from 'vitest';
import { buildGuidance, relatedDocs } from '../../packages/core/src/analysis/build-guidance.ts';
import { classify } from '../../packages/core/src/analysis/find-rule.ts';
import type { KnownErrno } from '../../packages/core/src/analysis/system-error-code.ts';
import { readImportCosts } from '../../packages/core/src/packages/import-costs.ts';
import { PRESETS } from '../../packages/core/src/packages/resolve-packages.ts';
import { ALTERNATIVES as JAVASCRIPT_ALTERNATIVES } from '../../packages/core/src/runtimes/javascript/guidance/advice.ts';
import { ALTERNATIVES as PYTHON_ALTERNATIVES } from '../../packages/core/src/runtimes/python/guidance/advice.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import {
  errorGuidance,
  executeOptions,
  policy,
  RUNTIME_NAMES,
  sandboxOptions,
} from '../../packages/core/src/schema.ts';
import { repetitions } from '../support/repetitions.ts';
import type { GuidanceExample } from './examples/example-failure.ts';
import { EXAMPLE_FAILURES } from './examples/index.ts';
import { run } from './inputs.ts';

/** A hostile text is combined with one example out of this many; the next text with others. */
const INTERVAL = repetitions(4, 1);

const EXAMPLES = RUNTIME_NAMES.flatMap((runtime) =>
  EXAMPLE_FAILURES[runtime].map((example) => ({ ...example, runtime })),
);
const classified = ({ runtime, run: change }: (typeof EXAMPLES)[number]) =>
  classify(run(runtime, change), LANGUAGES[runtime].rules)!;

describe('rule table', () => {
  test.each(EXAMPLES.map((example) => [example.runtime, example.type, example] as const))(
    'the %s example of %s gets guidance of that type',
    (_, type, example) => {
      const found = classified(example);
      expect(found?.rule.type).toBe(type);
      const guidance = buildGuidance(found);
      expect(errorGuidance.parse(guidance)).toEqual(guidance);
      expect(guidance.actionable_guidance.length).toBeGreaterThan(0);
      expect(guidance.actionable_guidance.join('\n')).not.toMatch(/'undefined'|\[object/);
    },
  );

  test('every rule has an example', () => {
    const shown = new Set(EXAMPLES.map((example) => classified(example).rule));
    const rules = new Set(RUNTIME_NAMES.flatMap((name) => LANGUAGES[name].rules));
    expect([...rules].filter((rule) => !shown.has(rule)).map(({ type }) => type)).toEqual([]);
  });

  test('guidance mentions only parameters that exist', () => {
    const known = new Set([
      ...Object.keys(policy.shape),
      ...Object.keys(executeOptions.shape),
      ...Object.keys(sandboxOptions.shape),
      // The tool in docs/specification.md, and the blocks of a result.
      'create_session',
      'error_guidance',
      'fuel_analysis',
      // Functions of programs, and a tool of the MCP server.
      'search_tools',
      'describe_tool',
      'resume_execution',
      // The tool of an example.
      'send_mail',
      // A module of Node.js.
      'child_process',
      // Names of Python's standard library.
      'set_int_max_str_digits',
      'exist_ok',
      'linear_regression',
    ]);
    for (const example of EXAMPLES) {
      const own = buildGuidance(classified(example))
        .actionable_guidance.filter((line) => !/ line \d+: |^The (key|name) |^Existing keys/.test(line))
        .join('\n');
      const named = [...own.matchAll(/(?<![\w.'/"])[a-z]+(?:_[a-z]+)+(?![\w'./])/g)].map(([name]) => name);
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    }
  });

  test('has the types of docs/specification.md', () => {
    const types = RUNTIME_NAMES.flatMap((name) => LANGUAGES[name].rules.map(({ type }) => type));
    for (const type of [
      'OutOfFuel',
      'PathRestriction',
      'QuickJSTupleDestructuring',
      'MissingVendoredPackage',
      'WASMUnreachable',
      'MemoryExhausted',
      'SyntaxError',
    ]) {
      expect(types).toContain(type);
    }
  });

  test('a rule without documents of its own refers to its section of ERROR_GUIDANCE.md', () => {
    for (const example of EXAMPLES) {
      const { rule, input } = classified(example);
      const docs = relatedDocs(rule, input.language);
      expect(docs.length).toBeGreaterThan(0);
      if (rule.docs.length === 0) expect(docs).toEqual([`docs/ERROR_GUIDANCE.md#${rule.type.toLowerCase()}`]);
    }
  });
});

test.each([
  ['python', PYTHON_ALTERNATIVES],
  ['javascript', JAVASCRIPT_ALTERNATIVES],
] as const)(
  'alternatives to %s packages are vendored or can be added, and vendored packages have none',
  (language, table) => {
    const vendored = readImportCosts().packages.filter((one) => one.language === language);
    // Packages that can be added are suggested where they are installed.
    const names = [...vendored.map(({ name }) => name), ...PRESETS['scientific']!];
    const suggested = [...table.values()].flatMap((one) => one.packages ?? []);
    expect(suggested.filter((name) => !names.includes(name))).toEqual([]);
    const importNames = vendored.flatMap(({ import_names }) => import_names);
    expect([...table.keys()].filter((name) => importNames.includes(name))).toEqual([]);
  },
);

test('every language has a number for the errors that rules distinguish', () => {
  const names = [
    ...(['EACCES', 'EAFNOSUPPORT', 'EDQUOT', 'EEXIST', 'EFBIG', 'EISDIR', 'ENOENT', 'ENOSPC'] as const),
    ...(['ENOSYS', 'ENOTDIR', 'ENOTEMPTY', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EROFS', 'EXDEV'] as const),
  ] satisfies KnownErrno[];
  for (const language of Object.values(LANGUAGES))
    expect(names.filter((name) => language.errno[name] === undefined)).toEqual([]);
});

describe('hostile text', () => {
  const texts = [
    ' '.repeat(100_000),
    '\n'.repeat(100_000),
    `import a${' '.repeat(100_000)}`,
    'a, '.repeat(50_000),
    '[['.repeat(50_000),
    'while '.repeat(20_000),
    `while${' '.repeat(30_000)}`,
    `const x = ${'os.readdir('.repeat(10_000)}`,
    'Traceback (most recent call last):\n'.repeat(2_000),
    '  File "/app/main.py", line 1\n'.repeat(300),
    'Uncaught TypeError: x\n'.repeat(400),
    'async function a() {}\n'.repeat(2_000),
    `const a = async ${'b = a('.repeat(10_000)}`,
    'x: string, '.repeat(5_000),
    `subprocess.run([${'"a" '.repeat(10_000)}`,
    `subprocess.run("${'a | '.repeat(10_000)}")`,
  ];

  // Quadratic time would exceed the timeout by far; a time limit per rule would depend on the machine.
  test('does not make a rule slow or guidance long', () => {
    for (const [t, text] of texts.entries()) {
      for (const { runtime, run: change } of EXAMPLES.filter((_, i) => (i + t) % INTERVAL === 0)) {
        const earlier = { persistent: false, sources: [text, text], heavyImports: new Map() };
        const error = change.error && {
          ...change.error,
          message: text.slice(0, 40_000),
          name: 'a',
          line: 1,
        };
        const changes: GuidanceExample['run'][] = [
          { ...change, source: text, earlier, program: undefined },
          { ...change, source: text, earlier, error, program: undefined },
          { ...change, error: undefined, ending: 'unknown', stderr: text },
        ];
        for (const hostile of changes) {
          const found = classify(run(runtime, hostile), LANGUAGES[runtime].rules);
          if (found !== undefined) expect(JSON.stringify(buildGuidance(found)).length).toBeLessThan(8_000);
        }
      }
    }
  }, 120_000);
});
