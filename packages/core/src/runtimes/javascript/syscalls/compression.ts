/**
 * System calls for deflate and inflate, which run on the host: in the interpreter they take about a hundred times longer. They
 * use pako rather than the zlib of Node.js, whose compressed bytes may depend on the version of Node.js and on the CPU.
 */
import { requireInstalled } from '../../../host/install-folder.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { FUEL_PER_US } from '../../../kernel/syscalls.ts';
import { type Argument, attempt, GuestBytes, type SystemCall, slice } from './call-arguments.ts';
import { pay, stepBytes } from './host-work.ts';

const CALL_FUEL = 200 * FUEL_PER_US;
/** Fuel for a byte that is compressed, by level. */
const DEFLATE_FUEL = [50, 100, 100, 150, 150, 250, 400, 700, 3500, 7500] as const;
const DEFAULT_LEVEL = 6;
/** Added at every level if the window or the buffers are not the usual size: small ones are moved and flushed more often. */
const OTHER_SIZES_FUEL = 600;
const USUAL_WINDOW_BITS = 15;
const USUAL_MEM_LEVEL = 8;
/** Fuel for a compressed byte that is expanded. The slowest ones describe Huffman codes that are not used. */
const INFLATE_INPUT_FUEL = 600;
const INFLATE_OUTPUT_FUEL = 25;
/** Bytes of input and of output in one step of inflate. */
const INFLATE_STEP_BYTES = stepBytes(INFLATE_INPUT_FUEL + INFLATE_OUTPUT_FUEL);
/** Bytes in one step of level 0, at which every step ends a block: up to this size, the blocks are those of Node.js. */
const STORED_STEP_BYTES = 1 << 19;
/** Bytes that deflate returns at once, as in Node.js: without compression, the size of the blocks depends on it. */
const OUTPUT_BYTES = 1 << 14;
const MAX_DICTIONARY_BYTES = 1 << 15;

type Pako = typeof import('pako');
let library: Pako | undefined;
/** Loaded on first use, because it takes as long as the start of a guest. */
function pako(): Pako {
  library ??= requireInstalled('pako') as Pako;
  return library;
}

const Z_NO_FLUSH = 0;
const Z_OK = 0;
const Z_STREAM_END = 1;
const Z_NEED_DICT = 2;
const Z_BUF_ERROR = -5;

/** Formats by number: raw data, with a header of zlib, of gzip, or of one of these two. */
const FORMATS = ['raw', 'zlib', 'gzip', 'either'] as const;

interface Settings {
  readonly format: (typeof FORMATS)[number];
  readonly level: number;
  readonly windowBits: number;
  readonly memLevel: number;
  readonly strategy: 0 | 1 | 2 | 3 | 4;
  /** The result may have this many bytes. */
  readonly maxOutput: number;
}

/** `settings` contains the fields of Settings as doubles. */
function settingsOf(settings: Argument): Settings {
  if (!(settings instanceof GuestBytes) || settings.isText || settings.length !== 48)
    throw syscallError('EINVAL');
  const values = [...new Float64Array(settings.bytes.slice().buffer)];
  const [format, level, windowBits, memLevel, strategy, maxOutput] = values as [
    ...[number, number, number, number, number, number],
  ];
  const isValid =
    values.every(Number.isSafeInteger) &&
    FORMATS[format] !== undefined &&
    isWithin(level, -1, 9) &&
    isWithin(windowBits, 8, 15) &&
    isWithin(memLevel, 1, 9) &&
    isWithin(strategy, 0, 4);
  if (!isValid) throw syscallError('EINVAL');
  return {
    format: FORMATS[format]!,
    level: level === -1 ? DEFAULT_LEVEL : level,
    windowBits,
    memLevel,
    strategy: strategy as Settings['strategy'],
    maxOutput,
  };
}

const isWithin = (value: number, min: number, max: number) => value >= min && value <= max;

/** An ArrayBuffer of at most `max` bytes. The guest represents an empty one by a null pointer. */
function bytesOf(arg: Argument, max: number): Uint8Array {
  if (arg === undefined) return new Uint8Array();
  if (!(arg instanceof GuestBytes) || arg.isText || arg.length > max) throw syscallError('EINVAL');
  return arg.bytes;
}

export const compressionCalls: Readonly<Record<string, SystemCall>> = {
  /** Compresses `length` bytes of `data` from `offset` on. Returns the number of bytes that it stores in `result`. */
  deflate: (guest, [data, offset, length, settings, dictionary, result]) => {
    const { format, level, windowBits, memLevel, strategy } = settingsOf(settings);
    const input = data === undefined ? new Uint8Array() : slice(data, offset, length);
    const preset = bytesOf(dictionary, MAX_DICTIONARY_BYTES).slice();
    const out = bytesOf(result, Number.POSITIVE_INFINITY);
    pay(guest, CALL_FUEL);
    const deflater = attempt(
      () =>
        new (pako().Deflate)({
          ...{ level: level as 6, windowBits, memLevel, strategy, chunkSize: OUTPUT_BYTES },
          ...{ raw: format === 'raw', gzip: format === 'gzip' },
          // gzip has no dictionaries.
          ...(preset.length > 0 && format !== 'gzip' && { dictionary: preset }),
        }),
    );
    let stored = 0;
    deflater.onData = (chunk) => {
      // Throws if it does not fit.
      out.set(chunk, stored);
      stored += chunk.length;
    };
    const isUsual = windowBits === USUAL_WINDOW_BITS && memLevel === USUAL_MEM_LEVEL;
    const byteFuel = DEFLATE_FUEL[level]! + (isUsual ? 0 : OTHER_SIZES_FUEL);
    const size = level === 0 ? STORED_STEP_BYTES : stepBytes(byteFuel);
    let at = 0;
    do {
      const step = input.subarray(at, at + size);
      pay(guest, step.length * byteFuel);
      at += size;
      attempt(() => deflater.push(step, at >= input.length));
    } while (at < input.length);
    if (deflater.err !== Z_OK) throw syscallError('EINVAL');
    return stored;
  },

  /**
   * Expands `length` bytes of `data` from `offset` on and stores the result in `result`. Returns its size: if it is larger than
   * `result`, the rest is not stored; if it is larger than `maxOutput` or the memory, it is not the full size. Returns a text
   * if the data is invalid.
   */
  inflate: (guest, [data, offset, length, settings, dictionary, result]) => {
    const { format, windowBits, maxOutput } = settingsOf(settings);
    const input = data === undefined ? new Uint8Array() : slice(data, offset, length);
    const preset = bytesOf(dictionary, MAX_DICTIONARY_BYTES).slice();
    const out = bytesOf(result, Number.POSITIVE_INFINITY);
    const limit = Math.min(maxOutput, guest.memoryLimit.maxBytes);
    pay(guest, CALL_FUEL);
    const { ZStream, zlibInflate, zlibInflateInit2, zlibInflateReset, zlibInflateSetDictionary } = pako();
    const stream = new ZStream();
    const bits = { raw: -windowBits, zlib: windowBits, gzip: windowBits + 16, either: windowBits + 32 };
    if (attempt(() => zlibInflateInit2(stream, bits[format])) !== Z_OK) throw syscallError('EINVAL');
    if (format === 'raw' && preset.length > 0) attempt(() => zlibInflateSetDictionary(stream, preset));
    const step = new Uint8Array(INFLATE_STEP_BYTES);
    let size = 0;
    // Input that a step leaves to the next one is charged once.
    let paidInput = 0;
    stream.input = input;
    for (;;) {
      // `avail_in` is a part of the remaining input, so that every step is short.
      stream.avail_in = Math.min(INFLATE_STEP_BYTES, input.length - stream.next_in);
      Object.assign(stream, { output: step, next_out: 0, avail_out: step.length });
      const end = stream.next_in + stream.avail_in;
      pay(guest, (end - paidInput) * INFLATE_INPUT_FUEL + INFLATE_STEP_BYTES * INFLATE_OUTPUT_FUEL);
      paidInput = end;
      let status = attempt(() => zlibInflate(stream, Z_NO_FLUSH));
      if (status === Z_NEED_DICT) {
        if (preset.length === 0) return 'Missing dictionary';
        if (attempt(() => zlibInflateSetDictionary(stream, preset)) !== Z_OK) return 'Bad dictionary';
        status = attempt(() => zlibInflate(stream, Z_NO_FLUSH));
      }
      if (size < out.length) out.set(step.subarray(0, Math.min(stream.next_out, out.length - size)), size);
      size += stream.next_out;
      if (size > limit) return size;
      const rest = input.length - stream.next_in;
      if (status === Z_STREAM_END) {
        // A gzip file may consist of several parts. Zeros after the last one are padding.
        const isPart = (format === 'gzip' || format === 'either') && rest > 0 && input[stream.next_in] !== 0;
        if (!isPart || zlibInflateReset(stream) !== Z_OK) return size;
      } else if (status !== Z_OK && status !== Z_BUF_ERROR) {
        return stream.msg || 'incorrect header check';
      } else if (rest === 0 && stream.avail_out > 0) {
        return 'unexpected end of file';
      }
    }
  },
};
