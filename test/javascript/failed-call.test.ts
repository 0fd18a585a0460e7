/** The methods that the guidance suggests exist in the guest. */
import { expect, test } from 'vitest';
import { functionsOf, KINDS } from '../../packages/core/src/runtimes/javascript/guidance/failed-call.ts';
import { javascript } from '../support/sandbox.ts';

test('every method that the guidance can suggest exists in the guest', async () => {
  const names = KINDS.map((kind) => [kind.methods.constructor.name, functionsOf(kind)] as const);
  const program = `const names = ${JSON.stringify(names)};
names.flatMap(([type, methods]) => methods.filter((name) => typeof globalThis[type].prototype[name] !== 'function'))`;
  expect((await javascript(program)).metadata.result).toEqual([]);
  expect(names.every(([, methods]) => methods.length > 2)).toBe(true);
});
