/**
 * Calls the host functions of JavaScript guests with arbitrary arguments. Programs cannot reach them directly, so the tests
 * create a guest in which they are a global object. Every call must return a value to the guest and never throw on the host.
 */
import { resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Guest } from '../../packages/core/src/engine/guest.ts';
import { type Image, writeImage } from '../../packages/core/src/engine/image.ts';
import { GuestStopped, UNLIMITED_RUN } from '../../packages/core/src/engine/run-context.ts';
import { Volume } from '../../packages/core/src/fs/volume.ts';
import { javascript } from '../../packages/core/src/runtimes/javascript/index.ts';
import { withCString } from '../../packages/core/src/runtimes/javascript/quickjs-api.ts';
import { SYSTEM_CALL_NAMES } from '../../packages/core/src/runtimes/javascript/syscalls/quickjs-imports.ts';
import { loadBuiltGuest } from '../support/built-guest.ts';
import { repetitions } from '../support/repetitions.ts';

let image: Image;
let program: ConstructorParameters<typeof Guest>[0];

beforeAll(async () => {
  // One of the calls loads a bundle, which only the build has.
  process.env['LLM_WASM_SANDBOX_ASSETS'] = resolve('packages/core/dist');
  ({ compiled: program, image } = await loadBuiltGuest('javascript'));
});

afterAll(() => {
  delete process.env['LLM_WASM_SANDBOX_ASSETS'];
});

/** A guest whose global object `host` contains the host functions. */
function guestWithHostCalls(): Guest {
  const volume = new Volume({ maxBytes: 1_000_000, maxFiles: 100 }, () => 0);
  const size = { pages: image.header.pages, maxPages: image.header.pages + 256 };
  const guest = new Guest(program, javascript.linkage, size, volume);
  writeImage(guest, image);
  guest.beginRun({ ...UNLIMITED_RUN, fuelBudget: 2_000_000_000, deadlineMs: performance.now() + 5_000 });
  const global = withCString(guest, 'globalThis', (code, length) =>
    guest.call('qjs_eval', code, length, code, 0),
  );
  const host = guest.call('qjs_new_object');
  for (const name of [...SYSTEM_CALL_NAMES, 'nonsense']) {
    withCString(guest, name, (pointer, length) => {
      const hostCall = guest.call('qjs_new_host_function', pointer, length, 0);
      guest.call('qjs_set_prop_string', host, pointer, hostCall);
    });
  }
  withCString(guest, 'host', (pointer) => guest.call('qjs_set_prop_string', global, pointer, host));
  return guest;
}

const run = (guest: Guest, code: string) =>
  JSON.parse(
    javascript.run(guest, image.header.handles, {
      code,
      file: '/app/main.js',
      language: 'javascript',
      env: {},
      args: [],
      call: 1,
      keep: false,
      inject_setup: true,
      fuel_budget: 0,
      timeout_seconds: 0,
    }),
  ) as { exit_code: number; result?: unknown };

const ARGUMENTS = [
  '0',
  '1',
  '-1',
  '3',
  '255',
  '1e9',
  '2 ** 31',
  '-(2 ** 31)',
  '2 ** 53',
  '1e300',
  'NaN',
  '-0',
  '0.5',
  'Infinity',
  'undefined',
  'null',
  'true',
  '10n',
  'Symbol()',
  '({})',
  '[]',
  '() => 1',
  '({ valueOf() { throw 1 } })',
  'new Proxy({}, {})',
  '""',
  '"/app"',
  '"/app/f"',
  '"/app/../../.."',
  '"/dev/stdout"',
  '"a\\0b"',
  '"\\ud800"',
  '"x".repeat(5000)',
  '"1 +"',
  '"import(1)"',
  'new ArrayBuffer(0)',
  'new ArrayBuffer(40)',
  'new ArrayBuffer(70000)',
  'detached',
  'new Uint8Array(8)',
  'new SharedArrayBuffer(8)',
];
const DETACHED = 'const detached = new ArrayBuffer(8); structuredClone(detached, { transfer: [detached] });';

describe('host calls of JavaScript guests', () => {
  test('return a value for arbitrary arguments', () => {
    const names = SYSTEM_CALL_NAMES.filter((name) => name !== 'exit' && name !== 'sleep');
    const call = fc.tuple(
      fc.constantFrom(...names, 'nonsense'),
      fc.array(fc.constantFrom(...ARGUMENTS), { maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 40 }), (calls) => {
        const lines = calls.map(([name, args]) => `try { host.${name}(${args.join(', ')}) } catch {}`);
        const report = run(guestWithHostCalls(), `${DETACHED}\n${lines.join('\n')}\n;"alive"`);
        expect(report).toHaveProperty('exit_code');
      }),
      { numRuns: repetitions(50, 150) },
    );
  });

  test('return an errno for invalid arguments', () => {
    const program = `${DETACHED}
      [host.nonsense(), host.open(), host.open('f', 0.5, 0), host.close({}), host.read(0, detached, 0, 1), host.read(0, new ArrayBuffer(4), 2, 3),
       host.read(0, new ArrayBuffer(4), -1, 3), host.write(1, 'text', 0, 1), host.stat('/app', 1, new ArrayBuffer(8)), host.mkdir('a\\0b', 0),
       host.open('x'.repeat(5000), 0, 0), host.open('\\ud800', 0, 0), host.decodeUtf8(new ArrayBuffer(2 ** 21), 0, 2 ** 21, 0), host.dup2(1, 1e6), host.seek(0, 0, 0)]`;
    expect(run(guestWithHostCalls(), program).result).toEqual([
      -38, -22, -22, -22, -22, -22, -22, -22, -22, -22, -36, -84, -22, -24, -29,
    ]);
  });

  test('stop the guest only for exit', () => {
    for (const [code, expected] of [
      ['7', 7],
      ['-1', 255],
      ['"x"', undefined],
    ] as const) {
      const guest = guestWithHostCalls();
      try {
        expect(run(guest, `host.exit(${code}); "alive"`).result).toBe('alive');
        expect(expected).toBeUndefined();
      } catch (cause) {
        if (!(cause instanceof GuestStopped)) throw cause;
        expect(cause.stop).toMatchObject({ reason: 'exit', exitCode: expected });
      }
    }
  });

  test('receive only checked arguments from std, os and the other globals', () => {
    const calls = [
      'os.open',
      'os.read',
      'os.write',
      'os.seek',
      'os.stat',
      'os.readdir',
      'os.utimes',
      'os.pipe',
      'os.dup2',
      'std.open',
      'std.loadFile',
      'std.fdopen',
      'new TextDecoder().decode',
      'new TextEncoder().encodeInto',
      'structuredClone',
      'setTimeout',
      'console.table',
      'console.log',
      'crypto.getRandomValues',
      'std.out.seek',
      'std.out.read',
      'std.in.getline',
    ];
    const call = fc.tuple(
      fc.constantFrom(...calls),
      fc.array(fc.constantFrom(...ARGUMENTS), { maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 30 }), (list) => {
        const lines = list.map(([name, args]) => `try { ${name}(${args.join(', ')}) } catch {}`);
        // A failing import ends the program as an unhandled rejection.
        expect(run(guestWithHostCalls(), `${DETACHED}\n${lines.join('\n')}\n;"alive"`)).toHaveProperty(
          'exit_code',
        );
      }),
      { numRuns: repetitions(40, 100) },
    );
  });
});
