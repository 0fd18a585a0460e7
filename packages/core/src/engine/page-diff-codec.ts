/**
 * A page diff records some pages of a guest's memory as their difference from a base image: for each page the words
 * that differ, XORed with the words of the base, and compressed. Applying a diff sets its pages completely, regardless
 * of their previous contents.
 *
 * Layout before compression, u32 words, little-endian:
 *   number P of pages
 *   P × page number, ascending, pages of 4096 bytes
 *   P × 32 masks: bit i of mask j is set when word 32 j + i of the page differs
 *   the words that differ, of all pages, each XORed with the word of the base
 */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { uninterrupted } from '../host/thread-critical-sections.ts';
import { type Image, ZEROS } from './image.ts';
import { PAGE_BYTES } from './image-identity.ts';

export const DIFF_PAGE_BYTES = 4096;
/** Maximum number of pages in one diff, so that encoding takes little memory: 8 MiB of guest memory. */
export const MAX_PAGES_PER_DIFF = 2048;
const PAGE_WORDS = DIFF_PAGE_BYTES / 4;
const PAGE_MASKS = PAGE_WORDS / 32;
/** Words that a page takes when all of it differs. */
const MAX_WORDS_PER_PAGE = 1 + PAGE_MASKS + PAGE_WORDS;

/** A diff is encoded after every call, so speed matters more than size. Equal words are already omitted. */
const COMPRESSION = { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } };

/** The memory of a base image in blocks of one WebAssembly page; blocks that are all zero are undefined. */
export type BaseBlocks = readonly (Uint8Array | undefined)[];

const cache = new WeakMap<Image, BaseBlocks>();

/** The blocks of an image, computed once per image. */
export function blocksOf(base: Image): BaseBlocks {
  let blocks = cache.get(base);
  if (blocks === undefined) {
    blocks = toBlocks(base);
    cache.set(base, blocks);
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
      const part = bytes.subarray(from, from + length);
      // Most blocks lie in one segment. Without a copy, threads share their memory.
      if (length === PAGE_BYTES && part.byteOffset % 4 === 0) {
        blocks[index] = part;
      } else {
        blocks[index] ??= new Uint8Array(PAGE_BYTES).fill(0);
        blocks[index].set(part, offset);
      }
      from += length;
    }
  }
  return blocks;
}

/** A block of the base. Memory beyond the end of the base counts as zero, like newly grown memory. */
export function blockAt(base: BaseBlocks, index: number): Uint8Array {
  return base[index] ?? ZEROS;
}

/** The words of one page in its block, which starts at a multiple of 4 in its buffer. */
function pageWords(block: Uint8Array, page: number): Int32Array {
  return new Int32Array(block.buffer, block.byteOffset + ((page * DIFF_PAGE_BYTES) % PAGE_BYTES), PAGE_WORDS);
}

function baseWords(base: BaseBlocks, page: number): Int32Array {
  return pageWords(blockAt(base, Math.floor((page * DIFF_PAGE_BYTES) / PAGE_BYTES)), page);
}

const wordsOf = (memory: Uint8Array) => new Int32Array(memory.buffer, memory.byteOffset, memory.length / 4);

/** Most calls change fewer pages than this; the memory for encoding them is allocated once. */
const BUFFERED_PAGES = 512;
let buffer: Int32Array | undefined;

/** Memory for encoding pages. Its contents are arbitrary: the encoder writes every word that it uses. */
function encodingBuffer(pages: number): Int32Array {
  if (pages > BUFFERED_PAGES) return new Int32Array(1 + pages * MAX_WORDS_PER_PAGE);
  buffer ??= new Int32Array(1 + BUFFERED_PAGES * MAX_WORDS_PER_PAGE);
  return buffer;
}

/** Encodes pages, given in ascending order. `blocks` holds their contents, by number of the block. */
export function encodePageDiff(
  pages: Int32Array,
  blocks: ReadonlyMap<number, Uint8Array>,
  base: BaseBlocks,
): Uint8Array {
  const body = encodingBuffer(pages.length);
  body[0] = pages.length;
  body.set(pages, 1);
  let maskAt = 1 + pages.length;
  let wordAt = maskAt + pages.length * PAGE_MASKS;
  for (const page of pages) {
    const words = pageWords(blocks.get(Math.floor((page * DIFF_PAGE_BYTES) / PAGE_BYTES))!, page);
    const others = baseWords(base, page);
    for (let i = 0; i < PAGE_WORDS; maskAt++) {
      let mask = 0;
      for (let bit = 0; bit < 32; bit++, i++) {
        const word = words[i]! ^ others[i]!;
        if (word === 0) continue;
        mask |= 1 << bit;
        body[wordAt++] = word;
      }
      body[maskAt] = mask;
    }
  }
  const encoded = new Uint8Array(body.buffer, 0, wordAt * 4);
  return uninterrupted(() => brotliCompressSync(encoded, COMPRESSION));
}

/** Thrown for bytes that are not a valid page diff. */
class PageDiffError extends Error {}

/**
 * Applies a diff to memory and returns its pages. The diff is untrusted: it may decompress to at most `limit` pages,
 * and every index is checked before it is used.
 */
export function applyPageDiff(
  diff: Uint8Array,
  memory: Uint8Array,
  base: BaseBlocks,
  limit: number,
): Int32Array {
  const maxPages = Math.min(limit, MAX_PAGES_PER_DIFF);
  const body = decompress(diff, (1 + maxPages * MAX_WORDS_PER_PAGE) * 4);
  const words = wordsOf(memory);
  const count = body[0]!;
  let maskAt = 1 + count;
  let wordAt = maskAt + count * PAGE_MASKS;
  if (count < 0 || count > maxPages || wordAt > body.length)
    throw new PageDiffError('the index of a page diff is cut off');
  const pages = body.slice(1, 1 + count);
  for (const page of pages) {
    let at = page * PAGE_WORDS;
    if (page < 0 || at + PAGE_WORDS > words.length) throw new PageDiffError(`page ${page} does not exist`);
    words.set(baseWords(base, page), at);
    for (const end = maskAt + PAGE_MASKS; maskAt < end; maskAt++, at += 32) {
      // Visits the set bits from the lowest, clearing each.
      for (let mask = body[maskAt]!; mask !== 0; mask &= mask - 1) {
        if (wordAt >= body.length) throw new PageDiffError(`page ${page} is cut off`);
        words[at + 31 - Math.clz32(mask & -mask)]! ^= body[wordAt++]!;
      }
    }
  }
  return pages;
}

function decompress(diff: Uint8Array, maxBytes: number): Int32Array {
  let bytes: Buffer;
  try {
    bytes = uninterrupted(() => brotliDecompressSync(diff, { maxOutputLength: maxBytes }));
  } catch {
    throw new PageDiffError('a page diff cannot be decompressed');
  }
  if (bytes.length < 4 || bytes.length % 4 !== 0) throw new PageDiffError('a page diff is cut off');
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}
