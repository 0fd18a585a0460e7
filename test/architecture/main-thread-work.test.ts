import { expect, test } from 'vitest';
import { BOUNDED, callsIn, MAIN_THREAD_CALLS, unknownLimits } from './main-thread-work.ts';

const ADVICE =
  'A call that parses, copies, decodes or decompresses in one step was added to or removed from a file that the main thread loads. ' +
  'Bound its input in bytes and members before the call, convert it in slices (packages/core/src/model-text/sliced-text.ts), or move the work to a worker. ' +
  'Then write what bounds it in BOUNDED in test/architecture/main-thread-work.ts.';

test('the patterns find calls whose cost grows with their input', () => {
  const calls = [
    'JSON.parse(text)',
    'structuredClone(value)',
    'new TextDecoder().decode(bytes)',
    "new TextDecoder('utf-8', { fatal: true }).decode(bytes)",
    'decoder.decode(part)',
    'this.#decoders[name]?.decode()',
    "bytes.toString('utf8')",
    'Buffer.concat(chunks).toString()',
    'new Response(bytes).formData()',
    'inflateRawSync(bytes)',
    'brotliDecompressSync(bytes)',
  ];
  expect(calls.filter((text) => callsIn(text) !== 1)).toEqual([]);
  expect(callsIn("JSON.stringify(x); digest.toString('hex'); frame.decodeAll()")).toBe(0);
});

// guarantee: request-limits
// proves: Every place on the main thread that parses, copies or decodes data in one step is listed with what bounds the data.
test('every such call on the main thread is listed with what bounds its input', () => {
  const listed = Object.fromEntries(Object.entries(BOUNDED).map(([path, { calls }]) => [path, calls]));
  expect(Object.fromEntries(MAIN_THREAD_CALLS), ADVICE).toEqual(listed);
});

test('loops over data of guests have the bounds that the list names', () => {
  expect(unknownLimits()).toEqual([]);
});
