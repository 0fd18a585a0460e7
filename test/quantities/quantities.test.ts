import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatFuel,
  formatItems,
  formatLiteral,
  formatPercent,
  nounFor,
  parseBytes,
  parseCount,
  parseFuel,
  typicalSeconds,
} from '../../packages/core/src/quantities.ts';
import { countItems } from '../../packages/core/src/runtimes/memory/describe-value.ts';
import { parse } from '../../packages/core/src/schema.ts';
import { SOURCES } from '../support/sources.ts';

describe('formatting', () => {
  it('writes fuel as docs/specification.md does', () => {
    expect([10e9, 8.5e9, 530e6, 1.5e12, 999_999_999, 12_345, 7].map(formatFuel)).toEqual([
      '10B',
      '8.5B',
      '530M',
      '1.5T',
      '1B',
      '12.3K',
      '7',
    ]);
  });

  it('writes sizes in binary units', () => {
    expect([0, 1, 812, 1024, 1536, 2_000_000, 256 * 2 ** 20, 2 ** 32].map(formatBytes)).toEqual([
      '0 bytes',
      '1 byte',
      '812 bytes',
      '1 KiB',
      '1.5 KiB',
      '1.9 MiB',
      '256 MiB',
      '4 GiB',
    ]);
  });

  it('writes durations and ages in the unit that fits', () => {
    expect([0.42, 9, 337.6, 999.7, 12_345].map(formatDuration)).toEqual([
      '0.4 ms',
      '9 ms',
      '338 ms',
      '1 s',
      '12.3 s',
    ]);
    expect([-5, 59_999, 90 * 60_000, 2 * 3_600_000, 49 * 3_600_000].map(formatAge)).toEqual([
      '0 s ago',
      '59 s ago',
      '90 min ago',
      '2 h ago',
      '2 d ago',
    ]);
  });

  it.each([
    ['file', undefined, ['0 files', '1 file', '2 files']],
    ['byte', undefined, ['0 bytes', '1 byte', '2 bytes']],
    ['call', undefined, ['0 calls', '1 call', '2 calls']],
    ['earlier call', undefined, ['0 earlier calls', '1 earlier call', '2 earlier calls']],
    ['entry', 'entries', ['0 entries', '1 entry', '2 entries']],
  ])('uses the singular of %s for one only', (noun, plural, expected) => {
    expect([0, 1, 2].map((count) => formatItems(count, noun, plural))).toEqual(expected);
    const nouns = [0, 1, 2].map((count) => `${count} ${nounFor(count, noun, plural)}`);
    expect(nouns).toEqual(expected);
    if (noun === 'byte') expect([0, 1, 2].map(formatBytes)).toEqual(expected);
  });

  it('groups digits with commas in text and with underscores in literals', () => {
    expect(formatCount(10_000)).toBe('10,000');
    expect([0, 1, 10_000].map((count) => formatItems(count, 'file'))).toEqual([
      '0 files',
      '1 file',
      '10,000 files',
    ]);
    expect([1, 2].map((count) => formatItems(count, 'entry', 'entries'))).toEqual(['1 entry', '2 entries']);
    expect(formatLiteral(20e9)).toBe('20_000_000_000');
    expect([formatPercent(84.6), formatPercent(84.62, 1)]).toEqual(['85%', '84.6%']);
  });
});

describe('messages', () => {
  /** A plural that is formed on the spot, such as `${n === 1 ? 'call' : 'calls'}` or `call${n === 1 ? '' : 's'}`. */
  const OWN_PLURAL = /=== 1 \? '(\w*)' : '\1s'|[!=]== 1 \? 's' : ''|> 1 \? 's' : ''/;

  it('form no plural without the common formatter', () => {
    expect(SOURCES.length).toBeGreaterThan(300);
    expect(SOURCES.filter(({ text }) => OWN_PLURAL.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it.each([
    [0, /must have at most 0 items/],
    [1, /must have at most 1 item(?!s)/],
    [2, /must have at most 2 items/],
  ])('about a list of at most %d use the right form', (max, message) => {
    const list = Array.from({ length: max + 1 }, () => 1);
    expect(() => parse(z.array(z.number()).max(max), list, 'list')).toThrow(message);
  });

  it('about values use the right form', () => {
    expect([0, 1, 2].map((count) => countItems(count))).toEqual(['0 items', '1 item', '2 items']);
  });
});

describe('typicalSeconds', () => {
  it('is a range that grows with the fuel', () => {
    expect([10e9, 1e9, 100e9].map(typicalSeconds)).toEqual(['2 to 8 s', '0.2 to 0.8 s', '20 to 80 s']);
  });
});

describe('parsing', () => {
  it('accepts every notation that formatting produces for fuel', () => {
    for (const fuel of [7, 12_300, 530e6, 8.5e9, 20e9, 1.5e12])
      expect(parseFuel(formatFuel(fuel))).toBe(fuel);
  });

  it('accepts decimal and binary units', () => {
    expect([parseFuel('20G'), parseFuel('20_000_000_000'), parseFuel('2e10')]).toEqual([20e9, 20e9, 20e9]);
    expect([parseBytes('512Mi'), parseBytes('512MiB'), parseBytes('1G')]).toEqual([2 ** 29, 2 ** 29, 1e9]);
    expect([parseCount('10K'), parseCount('0')]).toEqual([10_000, 0]);
  });

  it('rejects other text', () => {
    for (const text of ['', ' ', '-1', '1x', '1 M', '1BB', 'constructor', '1constructor', '0x10', 'NaN'])
      expect([parseFuel(text), parseBytes(text), parseCount(text)]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    expect([parseBytes('20B'), parseCount('20B')]).toEqual([undefined, undefined]);
  });
});
