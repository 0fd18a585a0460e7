import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8Length } from '../../packages/core/src/fs/file-names.ts';

describe('utf8Length', () => {
  it('agrees with TextEncoder for any string', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: fc.constantFrom('\ud800', '\udc00', 'a') }),
        (a, b) => {
          expect(utf8Length(a + b)).toBe(new TextEncoder().encode(a + b).length);
        },
      ),
    );
  });
});
