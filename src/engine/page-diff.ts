/**
 * Some pages of a guest's memory as their difference to a base image: of each page the words that differ, combined with
 * those of the base by exclusive or, and compressed. Laying a layer sets its pages whole, whatever was there before.
 *
 * Layout before compression, all of it u32 in little-endian order, drawn once:
 *   number P of pages
 *   P × page number, ascending, pages of 4096 bytes
 *   P × 32 masks: bit i of mask j is set when word 32 j + i of the page differs
 *   the words that differ, of all pages, each combined with the base's
 */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { type Image, ZEROS } from './image.ts';
import { PAGE_BYTES } from './image-format.ts';

export const DIFF_PAGE_BYTES = 4096;
const PAGE_WORDS = DIFF_PAGE_BYTES / 4;
const PAGE_MASKS = PAGE_WORDS / 32;
/** Words of one page with everything about it. */
const WHOLE_PAGE = 1 + PAGE_MASKS + PAGE_WORDS;

/** Taken after every call: what is fast counts, and what is zero is gone already. */
const COMPRESSION = { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } };

/** A base's memory in blocks of a WebAssembly page, those without contents left out. */
export type BaseBlocks = readonly (Uint8Array | undefined)[];

const made = new WeakMap<Image, BaseBlocks>();

/** Made once for each image. */
export function blocksOf(base: Image): BaseBlocks {
  let blocks = made.get(base);
  if (blocks === undefined) {
    blocks = toBlocks(base);
    made.set(base, blocks);
  }
  return blocks;
}

function toBlocks({ header, segments }: Image): BaseBlocks {
  const blocks: (Uint8Array | undefined)[] = new Array(header.pages).fill(undefined);
  for (const { at, bytes } of segments) {
    for (let from = 0; from < bytes.length; ) {
      const index = Math.floor((at + from) / PAGE_BYTES);
      const offset = (at + from) % PAGE_BYTES;
      const length = Math.min(bytes.length - from, PAGE_BYTES - offset);
      const block = blocks[index] ?? new Uint8Array(PAGE_BYTES).fill(0);
      block.set(bytes.subarray(from, from + length), offset);
      blocks[index] = block;
      from += length;
    }
  }
  return blocks;
}

/** Beyond the base its memory counts as zero, as fresh memory is. */
export function blockAt(base: BaseBlocks, index: number): Uint8Array {
  return base[index] ?? ZEROS;
}

/** Words of the base's page; blocks have a buffer of their own. */
function baseWords(base: BaseBlocks, page: number): Int32Array {
  const at = page * DIFF_PAGE_BYTES;
  return new Int32Array(blockAt(base, Math.floor(at / PAGE_BYTES)).buffer, at % PAGE_BYTES, PAGE_WORDS);
}

const wordsOf = (memory: Uint8Array) => new Int32Array(memory.buffer, memory.byteOffset, memory.length / 4);

/** A layer of these pages as they are in memory now. */
export function encodePageDiff(memory: Uint8Array, base: BaseBlocks, pages: readonly number[]): Uint8Array {
  const words = wordsOf(memory);
  const body = new Int32Array(1 + pages.length * WHOLE_PAGE);
  body[0] = pages.length;
  body.set(pages, 1);
  let maskAt = 1 + pages.length;
  let wordAt = maskAt + pages.length * PAGE_MASKS;
  for (const page of pages) {
    const others = baseWords(base, page);
    let at = page * PAGE_WORDS;
    for (let i = 0; i < PAGE_WORDS; maskAt++) {
      let mask = 0;
      for (let bit = 0; bit < 32; bit++, i++, at++) {
        const word = words[at]! ^ others[i]!;
        if (word === 0) continue;
        mask |= 1 << bit;
        body[wordAt++] = word;
      }
      body[maskAt] = mask;
    }
  }
  return brotliCompressSync(new Uint8Array(body.buffer, 0, wordAt * 4), COMPRESSION);
}

/** Thrown for a layer that cannot be one. */
export class PageDiffError extends Error {}

/**
 * Lays a layer over memory and returns its pages. Nothing in it is believed: it may unpack to `maxPages` pages at most,
 * and every place is checked before anything is written there.
 */
export function applyPageDiff(
  layer: Uint8Array,
  memory: Uint8Array,
  base: BaseBlocks,
  maxPages: number,
): Int32Array {
  const body = unpack(layer, (1 + maxPages * WHOLE_PAGE) * 4);
  const words = wordsOf(memory);
  const count = body[0]!;
  let maskAt = 1 + count;
  let wordAt = maskAt + count * PAGE_MASKS;
  if (count < 0 || count > maxPages || wordAt > body.length) throw new PageDiffError('its index is cut off');
  const pages = body.subarray(1, 1 + count);
  for (const page of pages) {
    let at = page * PAGE_WORDS;
    if (page < 0 || at + PAGE_WORDS > words.length) throw new PageDiffError(`page ${page} does not exist`);
    words.set(baseWords(base, page), at);
    for (const end = maskAt + PAGE_MASKS; maskAt < end; maskAt++, at += 32) {
      // Bit by bit from the lowest, each cleared once it is done.
      for (let mask = body[maskAt]!; mask !== 0; mask &= mask - 1) {
        if (wordAt >= body.length) throw new PageDiffError(`page ${page} is cut off`);
        words[at + 31 - Math.clz32(mask & -mask)]! ^= body[wordAt++]!;
      }
    }
  }
  return pages;
}

function unpack(layer: Uint8Array, maxBytes: number): Int32Array {
  let bytes: Buffer;
  try {
    bytes = brotliDecompressSync(layer, { maxOutputLength: maxBytes });
  } catch {
    throw new PageDiffError('it does not unpack');
  }
  if (bytes.length < 4 || bytes.length % 4 !== 0) throw new PageDiffError('it is cut off');
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}
