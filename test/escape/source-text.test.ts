/** The host scans JavaScript source before it starts the guest, so the scan must be linear for any text. */
import { describe, expect, test } from 'vitest';
import { planProgram } from '../../packages/core/src/runtimes/javascript/syntax/module-to-script.ts';
import { attack, useCanary } from './attack.ts';

useCanary();

const SIZE = 250_000;
const fill = (part: string) => part.repeat(Math.ceil(SIZE / part.length)).slice(0, SIZE);

/** Texts that take quadratic time or worse to scan with naive regular expressions. */
const TEXTS: Record<string, string> = {
  'unterminated comments': fill('/*'),
  'slashes and brackets': fill('/['),
  'unterminated escapes': fill('a\\u{'),
  'imports on one line': fill("import'a';"),
  'an import with a gap': `import a${' '.repeat(SIZE)}x`,
  'an import of comments': `import ${fill('/**/ //\n')}x`,
  'a list with a gap': `import{a${' '.repeat(SIZE)}b}from"x"`,
  'unterminated lists': fill('import{a'),
  'templates in templates': fill('`${'),
  exports: fill('export*as a from"x";'),
  'an export with a gap': `export*${' '.repeat(SIZE)}x`,
  'open brackets': fill('(['),
  'arrows in arrows': fill('a=>{'),
  quotes: fill("'"),
  backslashes: `'${'\\'.repeat(SIZE)}`,
  'regular expressions': fill('=/[a'),
  numbers: fill('1e+'),
  letters: 'a'.repeat(SIZE),
  'line ends': fill('\r\n\u2028'),
};

describe('source text', () => {
  // guarantee: time-limit
  test.each(Object.keys(TEXTS))('is scanned in linear time: %s', (name) => {
    expect(planProgram(TEXTS[name]!)).toHaveProperty('trailing');
  });

  test.each([
    'unterminated comments',
    'a list with a gap',
    'slashes and brackets',
    'open brackets',
    'templates in templates',
  ])('raises an error in the guest: %s', async (name) => {
    const result = await attack('javascript', TEXTS[name]!);
    expect(result.success).toBe(false);
    expect(result.metadata.error?.type).toMatch(/Error$/);
  });

  test.each([
    ['python', 'a NUL', 'print(1)\0print(2)'],
    ['python', 'a lone surrogate', "'\ud800'"],
    ['python', '250,000 open brackets', '('.repeat(SIZE)],
    ['python', 'an expression of 60,000 terms', `x = ${'1 + '.repeat(60_000)}1`],
    [
      'python',
      '200 levels of indentation',
      Array.from({ length: 200 }, (_, i) => `${' '.repeat(i)}if 1:`).join('\n'),
    ],
    ['javascript', 'a NUL', 'console.log(1)\0console.log(2)'],
    ['javascript', 'a lone surrogate', '"\ud800".length + (\ud800)'],
  ] as const)('in %s with %s never ends the worker', async (runtime, _, code) => {
    const result = await attack(runtime, code, { policy: { memory_bytes: 512 * 1024 * 1024 } });
    expect(result.metadata.trap_reason).not.toBe('worker_lost');
    expect(result.exit_code).toBeGreaterThanOrEqual(0);
  });
});
