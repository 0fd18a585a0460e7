import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guestError, guestReport, stoppedAt } from '../../packages/core/src/schema.ts';
import {
  ERROR_FIELDS,
  parseGuestReport,
} from '../../packages/core/src/worker/protocol/parse-guest-report.ts';

/** Values at both sides of every limit that the schema of an error has. */
const values = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, true, 0, -1, 1.5, 2 ** 53, '', [], {}),
  fc.constantFrom(200, 201, 420, 421, 40_100, 40_101).map((length) => 'x'.repeat(length)),
  fc.constantFrom(20, 21).map((length) => Array.from({ length }, () => 'x')),
  fc.constantFrom(420, 421).map((length) => ['x'.repeat(length)]),
  fc.jsonValue(),
);

describe('report of a guest', () => {
  it('accepts the same values for each field of an error as the schema', () => {
    expect(Object.keys(ERROR_FIELDS)).toEqual(Object.keys(guestError.shape));
    for (const name of Object.keys(guestError.shape) as (keyof typeof ERROR_FIELDS)[]) {
      const isAccepted = (value: unknown) => ERROR_FIELDS[name](value) === undefined;
      fc.assert(
        fc.property(values, (value) => {
          expect(isAccepted(value)).toBe(guestError.shape[name].safeParse(value).success);
        }),
        { numRuns: 60 },
      );
    }
  });

  it('matches the schema, whatever the guest reports', () => {
    const error = fc.record(Object.fromEntries(Object.keys(guestError.shape).map((name) => [name, values])), {
      requiredKeys: [],
    });
    const place = fc.record(
      {
        file: values,
        line: values,
        function: values,
        variables: fc.oneof(values, fc.dictionary(fc.string(), values)),
      },
      { requiredKeys: [] },
    );
    const report = fc.record(
      {
        exit_code: values,
        result: values,
        result_type: values,
        error: fc.oneof(values, error),
        exit_cause: fc.oneof(values, error),
        stopped_at: fc.oneof(values, place),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(report, (reported) => {
        const parsed = parseGuestReport(JSON.stringify(reported));
        expect(guestReport.safeParse(parsed).error).toBeUndefined();
        if (parsed?.stopped_at !== undefined)
          expect(stoppedAt.safeParse(parsed.stopped_at).success).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps what is valid and drops what is not', () => {
    const error = { type: 'E'.repeat(300), message: 'm', line: 3, unknown: 1 };
    const text = JSON.stringify({
      exit_code: 300,
      result: [1],
      result_type: 5,
      error,
      exit_cause: { type: 1 },
    });
    expect(parseGuestReport(text)).toEqual({
      exit_code: 1,
      result: [1],
      error: { type: 'E'.repeat(200), message: 'm', line: 3 },
    });
    expect(parseGuestReport('not JSON')).toBeUndefined();
  });
});
