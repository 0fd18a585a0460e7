/**
 * Prepares the font of charts: removes the outlines of characters that charts rarely contain and the tables that drawing does
 * not need, and lists the widths of the rest. Glyphs keep their numbers, so nothing else changes.
 */

/** Latin, Greek, Cyrillic, punctuation, currencies, arrows and mathematical symbols. */
const KEPT = [
  [0x20, 0x24f],
  [0x2b0, 0x36f],
  [0x370, 0x52f],
  [0x1e00, 0x1eff],
  [0x2000, 0x20cf],
  [0x2100, 0x22ff],
  [0x2500, 0x25ff],
  [0x2600, 0x2606],
  [0x2713, 0x2717],
];
/** Required tables, without hinting, shaping rules and names of glyphs. */
const TABLES = ['OS/2', 'cmap', 'glyf', 'head', 'hhea', 'hmtx', 'loca', 'maxp', 'name'];

const isKept = (code) => KEPT.some(([from, to]) => code >= from && code <= to);

/** The font as `{ ttf, widths }`: the file, and the widths by code point in thousandths of the font size. */
export function prepareFont(bytes) {
  const tables = readTables(bytes);
  const glyphs = readCmap(tables.get('cmap'));
  const unitsPerEm = tables.get('head').readUInt16BE(18);
  const metrics = tables.get('hhea').readUInt16BE(34);
  const hmtx = tables.get('hmtx');
  const widths = {};
  const used = new Set([0]);
  for (const [code, glyph] of glyphs) {
    if (!isKept(code)) continue;
    used.add(glyph);
    widths[code] = Math.round((hmtx.readUInt16BE(Math.min(glyph, metrics - 1) * 4) / unitsPerEm) * 1000);
  }
  return { ttf: writeFont(withOutlines(tables, used)), widths };
}

function readTables(bytes) {
  const tables = new Map();
  for (let i = 0; i < bytes.readUInt16BE(4); i++) {
    const row = 12 + i * 16;
    const at = bytes.readUInt32BE(row + 8);
    tables.set(bytes.toString('latin1', row, row + 4), bytes.subarray(at, at + bytes.readUInt32BE(row + 12)));
  }
  return tables;
}

/** Glyphs by code point, from the table of the Basic Multilingual Plane (format 4). */
function readCmap(cmap) {
  const glyphs = new Map();
  for (let i = 0; i < cmap.readUInt16BE(2); i++) {
    const at = cmap.readUInt32BE(4 + i * 8 + 4);
    if (cmap.readUInt16BE(at) !== 4) continue;
    const count = cmap.readUInt16BE(at + 6) / 2;
    for (let segment = 0; segment < count; segment++) {
      const row = at + 14 + segment * 2;
      const end = cmap.readUInt16BE(row);
      const start = cmap.readUInt16BE(row + count * 2 + 2);
      const delta = cmap.readUInt16BE(row + count * 4 + 2);
      const offsetAt = row + count * 6 + 2;
      const offset = cmap.readUInt16BE(offsetAt);
      for (let code = start; code <= end && code < 0xffff; code++) {
        const found = offset === 0 ? code : cmap.readUInt16BE(offsetAt + offset + (code - start) * 2);
        if (found !== 0) glyphs.set(code, (found + delta) & 0xffff);
      }
    }
    return glyphs;
  }
  throw new Error('the font has no cmap subtable in format 4');
}

/** The tables with the outlines of these glyphs and of their components only. */
function withOutlines(tables, used) {
  const isLong = tables.get('head').readInt16BE(50) === 1;
  const loca = tables.get('loca');
  const glyf = tables.get('glyf');
  const offset = (glyph) => (isLong ? loca.readUInt32BE(glyph * 4) : loca.readUInt16BE(glyph * 2) * 2);
  for (const glyph of used) {
    const outline = glyf.subarray(offset(glyph), offset(glyph + 1));
    for (const component of componentsOf(outline)) used.add(component);
  }
  const count = tables.get('maxp').readUInt16BE(4);
  const offsets = Buffer.alloc((count + 1) * 4);
  const outlines = [];
  let at = 0;
  for (let glyph = 0; glyph < count; glyph++) {
    offsets.writeUInt32BE(at, glyph * 4);
    if (!used.has(glyph)) continue;
    const outline = padded(glyf.subarray(offset(glyph), offset(glyph + 1)));
    outlines.push(outline);
    at += outline.length;
  }
  offsets.writeUInt32BE(at, count * 4);
  const head = Buffer.from(tables.get('head'));
  head.writeInt16BE(1, 50);
  const changed = new Map([...tables].filter(([name]) => TABLES.includes(name)));
  return changed.set('head', head).set('loca', offsets).set('glyf', Buffer.concat(outlines));
}

/** The glyphs that a composite glyph consists of. */
function* componentsOf(outline) {
  if (outline.length === 0 || outline.readInt16BE(0) >= 0) return;
  const [WORDS, SCALE, MORE, XY_SCALE, MATRIX] = [0x1, 0x8, 0x20, 0x40, 0x80];
  let at = 10;
  let flags = MORE;
  while (flags & MORE) {
    flags = outline.readUInt16BE(at);
    yield outline.readUInt16BE(at + 2);
    at += 4 + (flags & WORDS ? 4 : 2);
    if (flags & SCALE) at += 2;
    else if (flags & XY_SCALE) at += 4;
    else if (flags & MATRIX) at += 8;
  }
}

const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);

/** A font file with these tables. Checksums are zero: only font managers check them. */
function writeFont(tables) {
  const names = [...tables.keys()].sort();
  const power = 2 ** Math.floor(Math.log2(names.length));
  const header = Buffer.alloc(12 + names.length * 16);
  header.writeUInt32BE(0x00010000, 0);
  [names.length, power * 16, Math.log2(power), (names.length - power) * 16].forEach((value, i) => {
    header.writeUInt16BE(value, 4 + i * 2);
  });
  let at = header.length;
  const parts = [header];
  names.forEach((name, i) => {
    const table = tables.get(name);
    header.write(name, 12 + i * 16, 'latin1');
    header.writeUInt32BE(at, 12 + i * 16 + 8);
    header.writeUInt32BE(table.length, 12 + i * 16 + 12);
    parts.push(padded(table));
    at += padded(table).length;
  });
  return Buffer.concat(parts);
}
