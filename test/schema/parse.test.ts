import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parse } from '../../packages/core/src/schema/parse.ts';
import { executeOptions, sandboxOptions } from '../../packages/core/src/schema/sandbox-options.ts';

const python = { runtime: 'python' };

describe('the error for invalid options', () => {
  it('is short, however many members are invalid and whatever their names', () => {
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`${i}${'x'.repeat(4000)}`, 1]));
    const check = () => parse(z.record(z.string(), z.string()), many, 'envs');
    expect(check).toThrow(/^envs\.0x{255}: .*; and 1980 more$/);
    expect(check).toThrow(/^.{0,8000}$/);
  });

  it.each<[z.ZodType, unknown, string]>([
    [sandboxOptions, null, 'options: must be an object'],
    [
      sandboxOptions,
      { runtime: 'ruby' },
      'options.runtime: must be "python", "javascript", "bash" or "typescript"',
    ],
    [
      sandboxOptions,
      { ...python, policy: { fuel: 1 } },
      'options.policy has no field "fuel". Did you mean "fuel_budget"?',
    ],
    [
      sandboxOptions,
      { ...python, sesion_id: 'a', xyz: 1 },
      'options has no field "sesion_id" or "xyz". Did you mean "session_id"?',
    ],
    [
      sandboxOptions,
      { ...python, fuel_budget: 5 },
      'options has no field "fuel_budget". Did you mean "policy.fuel_budget"?',
    ],
    [sandboxOptions, { ...python, tenant: '' }, 'options.tenant: must have at least 1 character'],
    [
      sandboxOptions,
      { ...python, preload: ['?'] },
      'options.preload.0: must be the name of a module or package',
    ],
    [sandboxOptions, { ...python, signal: 3 }, 'options.signal: must be an instance of AbortSignal'],
    [
      sandboxOptions,
      { ...python, policy: { deterministic: 4 } },
      'options.policy.deterministic: must be a boolean or an object',
    ],
    [
      sandboxOptions,
      { ...python, policy: { deterministic: { seed: 'x' } } },
      'options.policy.deterministic.seed: must be a number',
    ],
    [
      sandboxOptions,
      { ...python, policy: { deterministic: { start_time: 'noon' } } },
      'options.policy.deterministic.start_time: must be a time in UTC, such as 2026-01-31T12:00:00Z',
    ],
    [
      sandboxOptions,
      { ...python, policy: { env: { 'A B': '1' } } },
      'options.policy.env.A B: must have 1 to 128 letters, digits and underscores, and must not start with a digit',
    ],
    [
      sandboxOptions,
      { ...python, policy: { mounts: [{ host_path: '.', guest_path: '/external/' }] } },
      'options.policy.mounts.0.guest_path: must be an absolute path without ".", "..", "//" or a slash at the end',
    ],
    [
      executeOptions,
      { fuel_budget: 0, timeout_seconds: Number.NaN },
      'options.timeout_seconds: must be a finite number; options.fuel_budget: must be at least 1',
    ],
    [z.strictObject({ a: z.string() }), {}, 'options.a: must be a string, but is missing'],
  ])('says what is wrong and what is expected (%#)', (schema, input, message) => {
    expect(() => parse(schema, input, 'options')).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message }),
    );
  });

  it('is short for many long unknown names', () => {
    const input = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${i}${'x'.repeat(1000)}`, 1]));
    expect(() => parse(z.strictObject({}), input, 'options')).toThrow(/^options has no field .{1,600}\.$/);
  });
});

it('the runtime of TypeScript is that of JavaScript', () => {
  expect(parse(sandboxOptions, { runtime: 'typescript' }, 'options').runtime).toBe('javascript');
});
