/** Writes the packs that host/layer-pack.ts reads. */
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { sha256, sha256Hex } from '../../framing/digest.ts';
import { encodeMagic } from '../../framing/magic-number.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { blockRanges, encodeLayer } from '../../fs/layer-index.ts';
import { readCached, writeCached } from '../../host/disk-cache.ts';
import { PACK_HEADER_BYTES, PACK_MAGIC } from '../../host/layer-pack.ts';
import type { PackFacts } from '../../host/shared-layer.ts';
import { uninterrupted } from '../../host/thread-critical-sections.ts';

/** Higher qualities save a tenth of the size and take several times as long. */
const QUALITY = 7;
const compress = promisify(brotliCompress);

/** Encodes a layer as a pack. Compressed packs are cached, because compression takes some seconds. */
export async function encodePack(
  at: string,
  entries: readonly Entry[],
): Promise<{ facts: PackFacts; pack: Uint8Array }> {
  const { index, data } = encodeLayer(entries, sha256);
  const facts = {
    at,
    sha256: sha256Hex(index),
    head_bytes: PACK_HEADER_BYTES + blockRanges(data.length).length * 4 + index.length,
    data_bytes: data.length,
  };
  const key = sha256Hex(`${PACK_MAGIC}\0${QUALITY}\0${process.versions['brotli']}\0`, index);
  let pack = readCached('packs', key);
  if (pack === undefined) {
    pack = await compressPack(index, data);
    writeCached('packs', key, pack);
  }
  return { facts, pack };
}

async function compressPack(index: Uint8Array, data: Uint8Array): Promise<Uint8Array> {
  const options = (size: number) => ({
    params: {
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: size,
    },
  });
  const blocks = await Promise.all(
    blockRanges(data.length).map(({ start, end }) =>
      uninterrupted(() => compress(data.subarray(start, end), options(end - start))),
    ),
  );
  const header = new Uint8Array(PACK_HEADER_BYTES + blocks.length * 4);
  const view = new DataView(header.buffer);
  header.set(encodeMagic(PACK_MAGIC));
  view.setUint32(8, blocks.length, true);
  blocks.forEach(({ length }, i) => {
    view.setUint32(PACK_HEADER_BYTES + i * 4, length, true);
  });
  return Buffer.concat([header, index, ...blocks]);
}
