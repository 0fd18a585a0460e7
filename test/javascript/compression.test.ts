/** Compression, which the host computes: its results, what it charges, and where it stops. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type {
  Argument,
  GuestBytes,
} from '../../packages/core/src/runtimes/javascript/syscalls/call-arguments.ts';
import { compressionCalls } from '../../packages/core/src/runtimes/javascript/syscalls/compression.ts';
import { systemCallGuest } from './system-call-guest.ts';

const [ZLIB, GZIP] = [1, 2];
const DEFAULTS = [6, 15, 8, 0, Number.MAX_SAFE_INTEGER];
const OUT_AT = 32_768;

/** A guest and calls of it with a whole buffer as data. */
function setUp(budget?: number) {
  const { call, numbers: settings, ...guest } = systemCallGuest(compressionCalls, OUT_AT, budget);
  return {
    ...guest,
    settings,
    call: (name: string, data: GuestBytes, ...rest: Argument[]) => call(name, data, 0, data.length, ...rest),
  };
}

describe('compression for a JavaScript guest', () => {
  test.each([
    [9, 9],
    [9, 8],
    [15, 1],
  ])('charges more for a window of 2^%i bytes with memory level %i', (windowBits, memLevel) => {
    const { call, store, settings, out, run } = setUp();
    const data = store(new Uint8Array(1000));
    call('deflate', data, settings(ZLIB, 1, windowBits, memLevel, 0, 1000), undefined, out(2000));
    expect(run.charged).toBe(200_000 + 700 * 1000);
  });

  test('charges fuel for every byte that it compresses, more for higher levels', () => {
    const charged = [1, 6, 9].map((level) => {
      const { run, memory, store, settings, out, call } = setUp();
      const data = store(Buffer.from('compress me '.repeat(500)));
      const options = settings(GZIP, level, ...DEFAULTS.slice(1));
      const size = call('deflate', data, options, undefined, out(8000)) as number;
      expect(gunzipSync(memory.bytes(OUT_AT, size)).toString()).toBe('compress me '.repeat(500));
      return run.charged;
    });
    expect(charged).toEqual([200_000 + 6000 * 100, 200_000 + 6000 * 400, 200_000 + 6000 * 7500]);
  });

  test('stops at the end of the budget before it computes', () => {
    const { memory, store, settings, out, call } = setUp(1_000_000);
    const data = store(Buffer.from('compress me '.repeat(500)));
    const options = settings(GZIP, ...DEFAULTS);
    expect(call('deflate', data, options, undefined, out(8000))).toBe('EINTR');
    expect(memory.bytes(OUT_AT, 8000).every((byte) => byte === 0)).toBe(true);
  });

  test('rejects settings that are out of range, and a result that does not fit', () => {
    const { store, settings, out, call } = setUp();
    const data = store(Buffer.from('compress me'));
    for (const values of [
      [4, ...DEFAULTS],
      [Number.NaN, ...DEFAULTS],
      [0, 10, ...DEFAULTS.slice(1)],
      [0, 6, 7, ...DEFAULTS.slice(2)],
      [0, 6, 15, 10, 0, 1],
      [0, 6, 15, 8, 5, 1],
      [0, 6, 15, 8],
    ])
      for (const name of ['deflate', 'inflate'])
        expect(call(name, data, settings(...values), undefined, out(100))).toBe('EINVAL');
    expect(call('deflate', data, settings(GZIP, ...DEFAULTS), undefined, out(5))).toBe('EINVAL');
    expect(call('deflate', data, settings(3, 6, 8, 8, 0, 1), store(new Uint8Array(3)), out(100))).not.toBe(0);
  });
});

describe('decompression for a JavaScript guest', () => {
  test('charges for the bytes that it reads and writes, and checks the limits meanwhile', () => {
    const { run, store, settings, out, call } = setUp();
    const data = store(gzipSync(Buffer.alloc(900_000)));
    expect(call('inflate', data, settings(GZIP, ...DEFAULTS), undefined, out(1000))).toBe(900_000);
    expect(run.charged).toBe(200_000 + data.length * 600 + Math.ceil(900_000 / 16_000) * 16_000 * 25);
    expect(run.checks).toBeGreaterThan(0);
  });

  test('stops when the result exceeds maxOutput or the memory limit', () => {
    const { store, settings, out, call } = setUp();
    const data = store(gzipSync(Buffer.alloc(20_000_000), { level: 9 }).subarray(0, 20_000));
    const size = call('inflate', data, settings(GZIP, ...DEFAULTS), undefined, out(10)) as number;
    expect(size).toBeGreaterThan(1 << 20);
    expect(size).toBeLessThan((1 << 20) + (1 << 17));
    const limited = settings(GZIP, ...DEFAULTS.slice(0, 4), 1000);
    expect(call('inflate', data, limited, undefined, out(10))).toBeLessThan(1 << 17);
  });

  test('stops at the end of the budget', () => {
    const { store, settings, out, call } = setUp(5_000_000);
    const data = store(gzipSync(Buffer.alloc(900_000)));
    expect(call('inflate', data, settings(GZIP, ...DEFAULTS), undefined, out(10))).toBe('EINTR');
  });

  test('reports invalid data as a text', () => {
    const { store, settings, out, call } = setUp();
    const gz = gzipSync('text');
    const inflate = (bytes: Uint8Array, format: number) =>
      call('inflate', store(bytes), settings(format, ...DEFAULTS), undefined, out(100));
    expect(inflate(gz, ZLIB)).toBe('incorrect header check');
    expect(inflate(gz.subarray(0, 12), GZIP)).toBe('unexpected end of file');
    expect(inflate(Buffer.concat([gz, gz]), GZIP)).toBe(8);
  });
});

describe('node:zlib', () => {
  // The compressed bytes are those of zlib. The zlib of Node.js may compress differently, depending on the CPU.
  test('compresses to the same bytes on every machine', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const { stdout } = await sandbox.execute(`
const zlib = require('zlib'), { createHash } = require('crypto');
let n = 1;
const data = Buffer.from(Array.from({ length: 3000 }, () => (n = (n * 75) % 65537) % 7));
for (const [level, name] of [[0, 'deflateRaw'], [1, 'deflate'], [6, 'gzip'], [9, 'deflateRaw']]) {
  const bytes = zlib[name + 'Sync'](data, { level });
  console.log(bytes.length, createHash('md5').update(bytes).digest('hex').slice(0, 8), zlib[{ gzip: 'gunzip', deflate: 'inflate', deflateRaw: 'inflateRaw' }[name] + 'Sync'](bytes).equals(data));
}`);
    expect(stdout).toMatchInlineSnapshot(`
      "3005 1429e194 true
      1273 0b20d16e true
      1282 e9cd56d1 true
      1264 4aed2714 true
      "
    `);
  });

  test('runs out of memory if the result is larger than the memory', async () => {
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      policy: { memory_bytes: 32 * 1024 * 1024 },
    });
    const bomb = gzipSync(Buffer.alloc(40_000_000), { level: 1 });
    const { stdout, stderr } = await sandbox.execute(
      "const zlib = require('zlib'), bomb = require('fs').readFileSync('bomb.gz');\ntry { zlib.gunzipSync(bomb, { maxOutputLength: 1e6 }) } catch (e) { console.log(e.code) }\nzlib.gunzipSync(bomb)",
      { files: { 'bomb.gz': bomb } },
    );
    expect(stdout).toBe('ERR_BUFFER_TOO_LARGE\n');
    expect(stderr).toContain('out of memory');
  });
});
