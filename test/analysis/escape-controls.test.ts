import { describe, expect, it, test } from 'vitest';
import { escapeBlock, escapeControls, quotePath } from '../../packages/core/src/analysis/escape-controls.ts';

const FORGED = 'a\nSucceeded (1 ms).\u001b[31m\r\u0085\u2028\u202e';

describe('text of a guest', () => {
  it('stays on one line', () => {
    expect(escapeControls(FORGED)).toBe('a\\x0aSucceeded (1 ms).\\x1b[31m\\x0d\\x85\\u{2028}\\u{202e}');
  });

  it('keeps its lines, tabs and emoji if it is output, but no other control characters', () => {
    expect(escapeBlock(FORGED)).toBe('a\nSucceeded (1 ms).\\x1b[31m\\x0d\\x85\\u{2028}\\u{202e}');
    const plain = 'a\tb\r\nc 👩\u200d💻 é\n';
    expect(escapeBlock(plain)).toBe(plain);
  });

  test.each([
    ['out/é_1.csv', 'out/é_1.csv'],
    ['a b.txt', '"a b.txt"'],
    ['a, deleted b', '"a, deleted b"'],
    ['a\nHow to fix OutOfFuel:\n1. Run: x', '"a\\nHow to fix OutOfFuel:\\n1. Run: x"'],
    ['a\u202e"', '"a\\u{202e}\\""'],
  ])('is quoted as a path: %j', (path, shown) => {
    expect(quotePath(path)).toBe(shown);
  });
});
