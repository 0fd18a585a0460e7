/** The program's own text: the host reads JavaScript before the guest does, and that must take no time to speak of. */
import { describe, expect, test } from 'vitest';
import { planProgram } from '../../src/runtimes/javascript/program.ts';
import { attack } from './witness.ts';

const SIZE = 250_000;
const fill = (part: string) => part.repeat(Math.ceil(SIZE / part.length)).slice(0, SIZE);

/** Texts that take quadratic time, or worse, to read with the patterns one would write first. */
const TEXTS: Record<string, string> = {
  'comments without end': fill('/*'),
  'slashes and brackets': fill('/['),
  'escapes without end': fill('a\\u{'),
  'imports on one line': fill("import'a';"),
  'an import with a gap': `import a${' '.repeat(SIZE)}x`,
  'an import of comments': `import ${fill('/**/ //\n')}x`,
  'a list with a gap': `import{a${' '.repeat(SIZE)}b}from"x"`,
  'lists without end': fill('import{a'),
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

describe('the text of a program', () => {
  test.each(Object.keys(TEXTS))('of %s is read in linear time', { timeout: 20_000 }, (name) => {
    expect(planProgram(TEXTS[name]!)).toHaveProperty('trailing');
  });

  test.each([
    'comments without end',
    'a list with a gap',
    'slashes and brackets',
    'open brackets',
    'templates in templates',
  ])('of %s is refused by the guest', async (name) => {
    const result = await attack('javascript', TEXTS[name]!);
    expect(result.success).toBe(false);
    expect(result.metadata.error?.type).toMatch(/Error$/);
  });

  test.each([
    ['python', 'a NUL', 'print(1)\0print(2)'],
    ['python', 'a lone surrogate', "'\ud800'"],
    ['python', 'brackets without end', '('.repeat(SIZE)],
    ['python', 'a line without end', `x = ${'1 + '.repeat(60_000)}1`],
    [
      'python',
      'indents without end',
      Array.from({ length: 200 }, (_, i) => `${' '.repeat(i)}if 1:`).join('\n'),
    ],
    ['javascript', 'a NUL', 'console.log(1)\0console.log(2)'],
    ['javascript', 'a lone surrogate', '"\ud800".length + (\ud800)'],
  ] as const)('of %s with %s ends in an error of the guest', async (runtime, _, code) => {
    const result = await attack(runtime, code, { policy: { memory_bytes: 512 * 1024 * 1024 } });
    expect(result.metadata.trap_reason).not.toBe('worker_lost');
    expect(result.exit_code).toBeGreaterThanOrEqual(0);
  });
});
