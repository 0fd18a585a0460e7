/**
 * Reports of a hostile guest: the analysis accepts any error, source and output. Guidance is returned in the form of its
 * schema, and each of its texts is one line of bounded length.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { analyse } from '../../../packages/core/src/analysis/analyse.ts';
import { LANGUAGES } from '../../../packages/core/src/runtimes/registry/languages.ts';
import {
  errorGuidance,
  fuelAnalysis,
  type GuestError,
  guestError,
  RUNTIME_NAMES,
  TRAPS,
  type TrapReason,
} from '../../../packages/core/src/schema.ts';
import { EXAMPLE_FAILURES } from '../../analysis/examples/index.ts';
import { run } from '../../analysis/inputs.ts';
import { rarely } from '../mutations.ts';
import type { FuzzTarget } from '../target.ts';

const LINE_MAX = 700;
const TOTAL_MAX = 8_000;

/** Texts of real reports, which random text would never hit. */
const EXAMPLES = Object.values(EXAMPLE_FAILURES).flat();
const knownTexts = [
  ...new Set(
    EXAMPLES.flatMap(({ run: change }) =>
      Object.values(change.error ?? {}).filter((value) => typeof value === 'string'),
    ),
  ),
];
const programs = [...new Set(EXAMPLES.flatMap(({ run: { source } }) => source ?? []))];

const fragment = fc.oneof(
  fc.constantFrom(...knownTexts, ...programs),
  fc.constantFrom(
    '\n',
    '\r',
    '\u2028',
    '\u0000',
    '\u001b[2J',
    '\u202e',
    '\ud800',
    "'",
    '"',
    '`',
    '/',
    '..',
    ': ',
  ),
  fc.constantFrom('import ', 'while ', 'for x in ', 'open(', '[[', '(a, ', 'File "/app/main.py", line 1\n'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const text = fc
  .tuple(fc.array(fragment, { maxLength: 5 }), fc.constantFrom(1, 1, 1, 2, 300))
  .map(([parts, times]) => parts.join('').repeat(times).slice(0, 20_000));
const number = fc.oneof(fc.integer({ min: -2, max: 60 }), fc.constantFrom(2 ** 31, -(2 ** 31), 2 ** 53 - 1));

/** Any error that the schema accepts: each field is absent or has a value of its type. */
const fields = Object.fromEntries(
  Object.keys(guestError.shape).map((key) => [
    key,
    fc.oneof(text, number, fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 3 })),
  ]),
);
const anyError: fc.Arbitrary<GuestError | undefined> = fc.record(fields, { requiredKeys: [] }).map((made) => {
  const error: Record<string, unknown> = { type: 'Error', message: '' };
  for (const [key, value] of Object.entries(made)) {
    const field = guestError.shape[key as keyof GuestError];
    const fitting = typeof value === 'string' ? [value, value.slice(0, 400)] : [value];
    const accepted = fitting.find((candidate) => field.safeParse(candidate).success);
    if (accepted !== undefined) error[key] = accepted;
  }
  return error as GuestError;
});
const similarToExample = fc
  .tuple(fc.constantFrom(...EXAMPLES), anyError, fc.array(fc.constantFrom(...Object.keys(guestError.shape))))
  .map(([{ run: change }, other, keys]): GuestError | undefined => {
    if (change.error === undefined) return other;
    const replaced = keys.filter((key) => other !== undefined && key in other);
    return {
      ...change.error,
      ...Object.fromEntries(replaced.map((key) => [key, other![key as keyof GuestError]])),
    };
  });

const anyRun = fc.record({
  runtime: fc.constantFrom(...RUNTIME_NAMES),
  error: fc.oneof(anyError, similarToExample, fc.constant(undefined)),
  exitCause: fc.oneof(anyError, fc.constant(undefined)),
  ending: fc.constantFrom('returned', 'exited', 'exception', 'unknown'),
  trap: rarely(3, fc.constantFrom(...(Object.keys(TRAPS) as TrapReason[]))),
  source: text,
  stderr: text,
  exitCode: fc.constantFrom(0, 1, 2, 137, 255),
  files: fc.array(text, { maxLength: 4 }),
  sources: fc.array(text, { maxLength: 3 }),
  persistent: fc.boolean(),
  fuelConsumed: fc.oneof(fc.nat(), fc.constantFrom(0, 1e10, 1e15)),
});

function checkLines(lines: readonly string[]): void {
  for (const line of lines) {
    assert.ok(line.length <= LINE_MAX, `a line of ${line.length} characters`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not appear
    assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
  }
}

export const guidance: FuzzTarget = {
  name: 'guidance',
  shortRuns: 600,
  open() {
    const types = new Set<string>();
    const property = fc.property(anyRun, ({ runtime, trap, files, sources, persistent, ...rest }) => {
      const input = run(runtime, {
        ...rest,
        trap: trap === null ? null : { reason: trap, message: TRAPS[trap].message },
        files: () => files,
        earlier: { persistent, sources, heavyImports: new Map([['openpyxl', 3]]) },
      });
      const options = { error_guidance: true, fuel_analysis: true };
      const { error_guidance: found, fuel_analysis: fuel } = analyse(
        input,
        LANGUAGES[runtime].rules,
        options,
      );
      if (fuel !== undefined) {
        assert.deepEqual(fuelAnalysis.parse(fuel), fuel);
        checkLines([fuel.recommendation ?? '', ...fuel.likely_causes]);
      }
      if (found === undefined) return;
      types.add(found.error_type);
      assert.deepEqual(errorGuidance.parse(found), found);
      assert.ok(JSON.stringify(found).length <= TOTAL_MAX, 'guidance is too long');
      checkLines([found.error_message, ...found.actionable_guidance, ...(found.code_examples ?? [])]);
    });
    return { property, checkCoverage: () => assert.ok(types.size > 15, [...types].join(' ')) };
  },
};
