/** Programs that read and write all memory of the guest, its stack and its interpreter included. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

describe('raw memory access', () => {
  // guarantee: memory-isolation
  test('reads every byte of the guest and nothing of the host', async () => {
    const result = await attack(
      'python',
      `import ctypes
seen, found = 0, []
for at in range(0, 31457280, 65536):
    page = bytes((ctypes.c_char * 65536).from_address(at))
    seen += len(page)
    # Compared in two halves, so that the program text does not contain the secret.
    half = page.find(b'host-sec')
    if half >= 0 and page[half + 8:half + 16] == b'ret-5d1f': found.append(at)
[seen, found]`,
    );
    expect(result.metadata.result).toEqual([31_457_280, []]);
  });

  test.each([
    ['one byte past the end', 'ctypes.c_uint.from_address(31457280 - 3).value'],
    ['at the end', 'ctypes.c_ubyte.from_address(31457280).value'],
    ['at the highest address', 'ctypes.c_ubyte.from_address(0xffffffff).value'],
    ['over the highest address', 'ctypes.c_ulonglong.from_address(0xfffffffe).value'],
  ])('ends the guest when it reads outside memory: %s', async (_, read) => {
    const result = await attack('python', `import ctypes\nprint('there', flush=True)\n${read}`);
    expect(result.stdout).toBe('there\n');
    expect(result.metadata).toMatchObject({ trap_reason: 'unreachable' });
    expect(result.metadata.trap_message).toContain('memory access out of bounds');
  });

  test('raises MemoryError for a length of gigabytes', async () => {
    const result = await attack(
      'python',
      'import ctypes\nlen(bytes((ctypes.c_char * 2_000_000_000).from_address(1024)))',
    );
    expect(result.metadata.error).toMatchObject({ type: 'MemoryError', line: 2 });
  });

  // guarantee: memory-isolation
  test.each([
    ['zeros over everything', 'bytes(65536)', 'range(0, 31457280, 65536)'],
    ['ones over everything', "b'\\xff' * 65536", 'range(0, 31457280, 65536)'],
    ['ones from the top down', "b'\\xff' * 65536", 'range(31457280 - 65536, 0, -65536)'],
    ['over the stack', "b'A' * 65536", 'range(0, 6_000_000, 65536)'],
  ])('ends only the guest when it overwrites memory: %s', async (_, bytes, range) => {
    const result = await attack(
      'python',
      `import ctypes
print('there', flush=True)
block = (${bytes})
for at in ${range}:
    (ctypes.c_char * 65536).from_address(at).raw = block`,
    );
    expect(result.stdout).toBe('there\n');
    expect(['unreachable', 'memory_limit']).toContain(result.metadata.trap_reason);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('ends the run when it writes random bytes (seed %i)', async (seed) => {
    const result = await attack(
      'python',
      `import ctypes, random
random.seed(${seed})
print('there', flush=True)
while True:
    ctypes.c_ubyte.from_address(random.randrange(1024, 31457280)).value = random.randrange(256)`,
      { policy: { fuel_budget: 1_000_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect(result.success).toBe(false);
  });

  // guarantee: memory-isolation
  test('is not available in JavaScript', async () => {
    const result = await attack(
      'javascript',
      `
const seen = [];
const attempt = (f) => { try { seen.push(String(f())); } catch (error) { seen.push(error.name); } };
const bytes = new Uint8Array(8);
attempt(() => bytes[8]);
attempt(() => bytes[-1]);
attempt(() => bytes[2 ** 32]);
attempt(() => new DataView(bytes.buffer).getUint8(8));
attempt(() => new Uint8Array(bytes.buffer, 4, 8));
attempt(() => new Uint8Array(2 ** 33));
attempt(() => bytes.subarray(-100, 100).length);
const buffer = new ArrayBuffer(8, { maxByteLength: 64 });
const view = new Uint8Array(buffer, 4);
buffer.resize(64); buffer.resize(0);
attempt(() => view[0]);
attempt(() => view.length);
attempt(() => view.fill(1));
const gone = new ArrayBuffer(8); const late = new DataView(gone); gone.transfer();
attempt(() => late.getInt8(0));
const racing = new Uint8Array(new ArrayBuffer(1000, { maxByteLength: 1000 }));
attempt(() => racing.fill({ valueOf() { racing.buffer.resize(1); return 7; } }) && racing.length);
attempt(() => racing.set({ length: 1, get 0() { racing.buffer.resize(0); return 1; } }) ?? racing.length);
attempt(() => { const a = Array.from({ length: 1000 }, (_, i) => i); a.sort(() => { a.length = 0; return -1; }); return 'sorted'; });
attempt(() => [1, 2, 3].concat({ length: 2 ** 53, [Symbol.isConcatSpreadable]: true }));
seen`,
    );
    expect(result.metadata.result).toEqual([
      'undefined',
      'undefined',
      'undefined',
      'RangeError',
      'RangeError',
      'RangeError',
      '8',
      'undefined',
      '0',
      'TypeError',
      'TypeError',
      '1',
      '0',
      'sorted',
      'TypeError',
    ]);
  });
});
