import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'javascript' }));

describe('Intl', () => {
  test.each([
    ["new Intl.NumberFormat('ru')", /no data for the locale ru\. Available: en, en-US/],
    ["(1).toLocaleString('ar-EG')", /no data for the locale ar-EG/],
    ["new Date(0).toLocaleDateString('en-NZ')", /no data for the locale en-NZ/],
    ["'a'.localeCompare('b', 'sv')", /no data for the locale sv/],
    ["'i'.toLocaleUpperCase('lt')", /no data for the locale lt/],
    [
      "new Intl.Segmenter('en', { granularity: 'word' })",
      /granularity word is not available .* Use text\.match/,
    ],
    ["new Intl.DisplayNames('en', { type: 'region' })", /Use a table of the names/],
    ["new Intl.NumberFormat('en', { numberingSystem: 'arab' })", /numberingSystem: 'arab'/],
    ["new Intl.NumberFormat('en-u-nu-arab')", /keyword nu-arab/],
    ["new Intl.NumberFormat('en', { style: 'percent', notation: 'compact' })", /compact percentages/],
    ["new Intl.DateTimeFormat('en', { calendar: 'hebrew' })", /calendar: 'hebrew'/],
    ["new Intl.DateTimeFormat('en', { dayPeriod: 'long' })", /dayPeriod/],
    ["new Intl.DateTimeFormat('en', { timeZoneName: 'longGeneric' })", /longGeneric/],
    ["new Intl.DateTimeFormat('en').formatRange(0, 1)", /format both values and join them/],
    ["new Intl.NumberFormat('en').formatRangeToParts(1, 5)", /format both values and join them/],
    ["new Intl.PluralRules('en').selectRange(1, 5)", /format both values and join them/],
    ["'コーヒー'.localeCompare('ココア', 'ja')", /cannot compare the character "ー"/],
    ["new Intl.Collator('de-u-co-phonebk')", /keyword co-phonebk/],
  ])('%s throws, because the sandbox cannot honour it', async (program, message) => {
    const { metadata } = await sandbox.execute(program);
    expect(metadata.error).toMatchObject({ type: 'RangeError' });
    expect(metadata.error?.message).toMatch(message);
  });

  test.each([
    'const f = new Intl.DurationFormat();',
    "new Intl.DurationFormat('en').format({ hours: 1 })",
    'new Intl.DurationFormat',
    "Intl.DurationFormat('en')",
    "const f = Intl.DurationFormat('en').format({ hours: 1 })",
    'const { NumberFormat, DurationFormat } = Intl;\nnew DurationFormat()',
    'const { DurationFormat: Duration } = Intl;\nconst d = new Duration()',
    "new (Intl['DurationFormat'])",
    "new Intl['DurationFormat']()",
  ])('is listed in the guidance for a member that does not exist: %s', async (program) => {
    const { stdout } = await sandbox.execute(
      "console.log(Object.getOwnPropertyNames(Intl).sort().join(', '))",
    );
    const { metadata } = await sandbox.execute(program);
    const lines = metadata.error_guidance!.actionable_guidance;
    expect(lines[1]).toBe('Intl.DurationFormat is not available in the sandbox');
    expect(lines[2]).toContain("Intl.NumberFormat and { style: 'unit', unit: 'hour' }");
    expect(lines[3]).toBe(`Intl has: ${stdout.trim()}`);
  });

  test('has what the guidance suggests instead of DurationFormat', async () => {
    const program = `const hours = new Intl.NumberFormat('en', { style: 'unit', unit: 'hour', unitDisplay: 'long' });
const minutes = new Intl.NumberFormat('en', { style: 'unit', unit: 'minute', unitDisplay: 'long' });
new Intl.ListFormat('en', { type: 'unit' }).format([hours.format(2), minutes.format(5)])`;
    expect((await sandbox.execute(program)).metadata.result).toBe('2 hours, 5 minutes');
  });

  test('is not reported as incomplete if something else is not a function', async () => {
    for (const program of [
      'const x = {}; x.f(typeof Intl.DurationFormat)',
      'const f = 1; f(Intl.DurationFormat)',
      'const { NumberFormat } = Intl; const g = 1; g()',
    ]) {
      const { metadata } = await sandbox.execute(program);
      const text = metadata.error_guidance!.actionable_guidance.join();
      expect(text, program).not.toContain('not available in the sandbox');
    }
  });

  test('uses English and UTC if nothing else is requested', async () => {
    const program =
      '[(1234.5).toLocaleString(), new Date(0).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone]';
    expect((await sandbox.execute(program)).metadata.result).toEqual([
      '1,234.5',
      '1/1/1970, 12:00:00 AM',
      'UTC',
    ]);
  });

  test('is loaded on first use and works after a program replaced it', async () => {
    const program = 'globalThis.Intl = { mine: 1 }; [Intl.mine, "b".localeCompare("a")]';
    expect((await sandbox.execute(program)).metadata.result).toEqual([1, 1]);
    const { fuel_consumed } = await sandbox.execute('1234.5.toLocaleString(); 1');
    expect(fuel_consumed).toBeLessThan(2_000_000);
  });

  test('with a long tag, text or list ends within its fuel', async () => {
    for (const program of [
      "new Intl.Locale('en-' + 'a'.repeat(1e6))",
      "new Intl.Locale('en' + '-abcde'.repeat(30) + '-')",
      "'é'.repeat(3e6).localeCompare('é'.repeat(3e6) + 'a')",
      "new Intl.NumberFormat('en').format(10n ** 3_000_000n)",
    ]) {
      const result = await sandbox.execute(program, { fuel_budget: 500_000_000 });
      expect(result.fuel_consumed).toBeLessThan(700_000_000);
    }
  });
});

describe('Temporal', () => {
  test('calculates with dates, durations and time zones, and formats them', async () => {
    const program = `
      const date = Temporal.PlainDate.from('2024-02-28');
      const before = Temporal.ZonedDateTime.from('2024-03-10T01:30[America/New_York]');
      [
        date.add({ months: 1 }).toString(),
        date.until('2024-12-25').toString(),
        before.add({ hours: 1 }).toString(),
        Temporal.Duration.from({ hours: 25 }).round({ largestUnit: 'day' }).toString(),
        date.toLocaleString('de-DE', { dateStyle: 'long' }),
        Temporal.PlainDate.compare(date, '2024-03-01'),
        Temporal.Now.instant().epochMilliseconds > 0,
      ]`;
    expect((await sandbox.execute(program)).metadata.result).toEqual([
      '2024-03-28',
      'P301D',
      '2024-03-10T03:30:00-04:00[America/New_York]',
      'P1DT1H',
      '28. Februar 2024',
      -1,
      true,
    ]);
  });
});
