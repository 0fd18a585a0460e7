/** JavaScript packages that are adapted to the sandbox. package-table.test.ts has a program for each package. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { code, javascript, python } from '../support/sandbox.ts';

type Files = Record<string, string | Uint8Array>;

async function value(program: string, files: Files = {}): Promise<unknown> {
  const result = await javascript(program, { files });
  expect(result.stderr).toBe('');
  expect(result.exit_code).toBe(0);
  return result.metadata.result;
}

test('all included plugins of dayjs can be imported', async () => {
  const program = code`
    import dayjs from 'dayjs';
    const names = os.readdir('/data/js-modules/dayjs/plugin')[0].filter((name) => name.endsWith('.qjsc'));
    for (const name of names) dayjs.extend((await import('dayjs/plugin/' + name.slice(0, -5))).default);
    [names.length > 30, dayjs.duration(90, 'minutes').toISOString(), dayjs('2026-05-04').quarter()]
  `;
  expect(await value(program)).toEqual([true, 'PT1H30M', 2]);
});

/** An image of 2 by 2 pixels with an alpha channel. */
const RED_PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAABytg0kAAAAEUlEQVR4nGP4z8DwH4QZYAwAR8oH+WdZbrcAAAAASUVORK5CYII=',
  'base64',
);
const DEJAVU = readFileSync(
  new URL('../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSans.ttf', import.meta.url),
);

test('pdfkit writes text, tables, drawings and images to streams and to its listeners', async () => {
  const program = code`
    import { createWriteStream, readFileSync } from 'node:fs';
    import { finished } from 'node:stream/promises';
    import PDFDocument from 'pdfkit';
    import { PDFDocument as Reader } from 'pdf-lib';
    const doc = new PDFDocument({ size: [400, 300], margin: 20, info: { Title: 'Report' } });
    const chunks = [];
    doc.on('data', (chunk) => chunks.push(chunk));
    const file = doc.pipe(createWriteStream('report.pdf'));
    doc.fontSize(18).text('Quarterly report').moveDown();
    doc.font('Times-Bold').fontSize(12).text('Sales grew by 12 percent.', { underline: true });
    for (let x = 20; x <= 380; x += 90) doc.moveTo(x, 90).lineTo(x, 150).stroke('#888888');
    doc.rect(20, 90, 360, 60).stroke().image('red.png', 20, 160, { width: 40 });
    doc.image(readFileSync('red.png'), { fit: [30, 30] });
    doc.addPage({ size: 'A4' }).font('Helvetica').table({ data: [['city', 'units'], ['Oslo', '150']] });
    doc.end();
    await finished(file);
    const written = await Reader.load(readFileSync('report.pdf'));
    [
      written.getPages().map((page) => Object.values(page.getSize()).map(Math.round)),
      written.getTitle(),
      Buffer.concat(chunks).equals(readFileSync('report.pdf')),
      written.context.enumerateIndirectObjects().filter(([, one]) => /Subtype .Image/.test(one.dict)).length,
    ]
  `;
  const result = await javascript(program, { files: { 'red.png': RED_PNG } });
  expect(result.stderr).toBe('');
  expect(result.metadata.result).toEqual([
    [
      [400, 300],
      [595, 842],
    ],
    'Report',
    true,
    4,
  ]);
});

test('pypdf reads the text that pdfkit writes with standard fonts and with a font file', {
  tags: 'full',
}, async () => {
  const program = code`
    const PDFDocument = require('pdfkit');
    const bytesOf = (doc) => new Promise((resolve) => {
      const chunks = [];
      doc.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks))).end();
    });
    const { PDFDocument: named, LineWrapper, registerFile } = PDFDocument;
    const fonts = new named();
    for (const family of ['Courier', 'Helvetica'])
      for (const style of ['', '-Bold', '-BoldOblique', '-Oblique']) fonts.font(family + style).text(family + style);
    for (const style of ['Roman', 'Bold', 'BoldItalic', 'Italic']) fonts.font('Times-' + style).text('Times ' + style);
    fonts.font('Symbol').text('a').font('ZapfDingbats').text('4');
    const archive = new PDFDocument({ subset: 'PDF/A-1b', tagged: true, font: 'DejaVuSans.ttf' });
    archive.text('Ω and ½ in DejaVu. '.repeat(20));
    async function main() {
      writeText('fonts.base64', (await bytesOf(fonts)).toString('base64'));
      writeText('archive.base64', (await bytesOf(archive)).toString('base64'));
      return [typeof LineWrapper, typeof registerFile, readText('fonts.base64'), readText('archive.base64')];
    }
    main()
  `;
  const [wrapper, register, fonts, archive] = (await value(program, {
    'DejaVuSans.ttf': DEJAVU,
  })) as string[];
  expect([wrapper, register]).toEqual(['function', 'function']);
  const reader = code`
    import json
    from pypdf import PdfReader
    fonts, archive = PdfReader('fonts.pdf'), PdfReader('archive.pdf')
    resources = fonts.pages[0]['/Resources']['/Font'].values()
    lines = archive.pages[0].extract_text().splitlines()
    profile = archive.trailer['/Root']['/OutputIntents'][0]['/DestOutputProfile'].get_data()
    names = [one.get_object()['/BaseFont'][1:] for one in resources]
    text = ' '.join(' '.join(lines).split())
    print(json.dumps([fonts.pages[0].extract_text(), names, len(lines) > 3, text, profile[36:40].decode()]))
  `;
  const files = {
    'fonts.pdf': Buffer.from(fonts!, 'base64'),
    'archive.pdf': Buffer.from(archive!, 'base64'),
  };
  const { stderr, stdout } = await python(reader, { files });
  expect(stderr).toBe('');
  const [text, names, wrapped, sentences, profile] = JSON.parse(stdout);
  expect(names).toHaveLength(14);
  for (const name of names.slice(0, 12)) expect(text).toContain(name.replace('Times-', 'Times '));
  expect([wrapped, sentences, profile]).toEqual([true, 'Ω and ½ in DejaVu. '.repeat(20).trim(), 'acsp']);
});

test('pdfkit encrypts documents, embeds WOFF fonts and refuses WOFF2 fonts', { tags: 'full' }, async () => {
  const program = code`
    import { createWriteStream, readFileSync } from 'node:fs';
    import { finished } from 'node:stream/promises';
    import { deflateSync } from 'node:zlib';
    import PDFDocument from 'pdfkit';
    import { PDFDocument as Reader, PDFName } from 'pdf-lib';

    /** Packs the tables of a font: a header of 44 bytes, 20 bytes for each table, and the compressed tables. */
    function woffOf(ttf) {
      const count = ttf.readUInt16BE(4);
      const head = Buffer.alloc(44 + 20 * count);
      head.write('wOFF');
      ttf.copy(head, 4, 0, 4);
      head.writeUInt16BE(count, 12);
      const parts = [head];
      for (let i = 0, end = head.length; i < count; i++) {
        const [entry, at] = [12 + 16 * i, 44 + 20 * i];
        const [offset, length] = [ttf.readUInt32BE(entry + 8), ttf.readUInt32BE(entry + 12)];
        const packed = deflateSync(ttf.subarray(offset, offset + length));
        const stored = packed.length < length ? packed : ttf.subarray(offset, offset + length);
        ttf.copy(head, at, entry, entry + 4);
        [end, stored.length, length].forEach((value, j) => head.writeUInt32BE(value, at + 4 + 4 * j));
        ttf.copy(head, at + 16, entry + 4, entry + 8);
        parts.push(stored);
        end += stored.length;
      }
      return Buffer.concat(parts);
    }

    const woff = woffOf(readFileSync('DejaVuSans.ttf'));
    const doc = new PDFDocument({ userPassword: 'open', pdfVersion: '1.7ext3', font: woff });
    const file = doc.pipe(createWriteStream('secret.pdf'));
    doc.text('Ω');
    doc.end();
    await finished(file);
    const load = (options) => Reader.load(readFileSync('secret.pdf'), options);
    const refused = await load().catch(({ message }) => message);
    const { context } = await load({ ignoreEncryption: true });
    const objects = context.enumerateIndirectObjects().map(([, one]) => String(one));
    const woff2 = Buffer.alloc(200);
    woff2.write('wOF2');
    woff2[13] = 1;
    let error;
    try { doc.font(woff2); } catch ({ message }) { error = message; }
    [
      refused.includes('is encrypted'), String(context.lookup(context.trailerInfo.Encrypt).get(PDFName.of('V'))),
      objects.some((one) => one.includes('DejaVuSans') && one.includes('/FontFile2')), error,
    ]
  `;
  expect(await value(program, { 'DejaVuSans.ttf': DEJAVU })).toEqual([
    true,
    '5',
    true,
    'WOFF2 fonts are not supported: convert the font to TTF, OTF or WOFF outside the sandbox',
  ]);
});
