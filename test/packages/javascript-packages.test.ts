/** Typical tasks with each JavaScript package. */
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

test('papaparse reads quoted CSV with types and writes it', async () => {
  const program = code`
    import Papa from 'papaparse';
    const { data, errors } = Papa.parse(readText('in.csv'), { header: true, dynamicTyping: true, skipEmptyLines: true });
    const { meta } = Papa.parse('a;b\\n1;2', {});
    writeText('out.csv', Papa.unparse(data.filter((row) => row.units > 100), { newline: '\\n' }));
    [errors.length, data[0], meta.delimiter, readText('out.csv')]
  `;
  const csv = 'product,units\n"Widget, ""A""",150\nB,90\n';
  expect(await value(program, { 'in.csv': csv })).toEqual([
    0,
    { product: 'Widget, "A"', units: 150 },
    ';',
    'product,units\n"Widget, ""A""",150',
  ]);
});

test('dayjs calculates with dates and loads plugins', async () => {
  const program = code`
    import dayjs from 'dayjs';
    import utc from 'dayjs/plugin/utc';
    import customParseFormat from 'dayjs/plugin/customParseFormat.js';
    dayjs.extend(utc);
    dayjs.extend(customParseFormat);
    dayjs.extend(requireVendor('dayjs/plugin/isoWeek'));
    const day = dayjs.utc('2024-01-31T10:00:00Z');
    [
      day.add(1, 'month').format('YYYY-MM-DD'),
      day.diff('2023-12-25', 'day'),
      dayjs('31.12.2024', 'DD.MM.YYYY').isoWeek(),
    ]
  `;
  expect(await value(program)).toEqual(['2024-02-29', 37, 1]);
});

test('luxon and dayjs convert between time zones', async () => {
  const program = code`
    import { DateTime, Duration, Interval } from 'luxon';
    import dayjs from 'dayjs';
    dayjs.extend(requireVendor('dayjs/plugin/utc'));
    dayjs.extend(requireVendor('dayjs/plugin/timezone'));
    const date = DateTime.fromISO('2024-02-28T22:30:00Z', { zone: 'utc' });
    [
      date.setZone('America/New_York').toISO(),
      date.plus({ months: 1 }).toLocaleString(DateTime.DATE_FULL),
      date.setLocale('de').toFormat('cccc d. LLLL'),
      Duration.fromObject({ hours: 3, minutes: 70 }).normalize().toHuman(),
      Interval.after(date, { days: 3 }).count('days'),
      dayjs.tz('2024-07-01 12:00', 'America/New_York').utc().format(),
    ]
  `;
  expect(await value(program)).toEqual([
    '2024-02-28T17:30:00.000-05:00',
    'March 28, 2024',
    'Mittwoch 28. Februar',
    '4 hours, 10 minutes',
    4,
    '2024-07-01T16:00:00Z',
  ]);
});

test('all included plugins of dayjs can be imported', async () => {
  const program = code`
    import dayjs from 'dayjs';
    const names = os.readdir('/data/js-modules/dayjs/plugin')[0].filter((name) => name.endsWith('.qjsc'));
    for (const name of names) dayjs.extend((await import('dayjs/plugin/' + name.slice(0, -5))).default);
    [names.length > 30, dayjs.duration(90, 'minutes').toISOString(), dayjs('2026-05-04').quarter()]
  `;
  expect(await value(program)).toEqual([true, 'PT1H30M', 2]);
});

test('date-fns formats, parses and compares', async () => {
  const program = code`
    import { addBusinessDays, differenceInCalendarDays, eachMonthOfInterval, format, parse } from 'date-fns';
    const start = parse('2024-02-28', 'yyyy-MM-dd', new Date(0));
    [
      format(addBusinessDays(start, 3), 'EEEE, d MMMM yyyy'),
      differenceInCalendarDays(new Date(2024, 11, 31), start),
      eachMonthOfInterval({ start, end: new Date(2024, 4, 1) }).length,
    ]
  `;
  expect(await value(program)).toEqual(['Monday, 4 March 2024', 307, 4]);
});

test('lodash groups, sorts, picks and merges, under both names', async () => {
  const program = code`
    import _ from 'lodash';
    import { groupBy, sumBy } from 'lodash-es';
    const rows = [{ k: 'a', n: 1 }, { k: 'b', n: 2 }, { k: 'a', n: 3 }];
    [
      _.mapValues(groupBy(rows, 'k'), (group) => sumBy(group, 'n')),
      _.chain(rows).orderBy(['n'], ['desc']).map('n').value(),
      _.merge({ a: { b: 1 } }, { a: { c: 2 } }),
      _.template('Hello <%= name %>')({ name: 'you' }),
      _.groupBy === groupBy, _.isBuffer(Buffer.from('x')), _.isBuffer(new Uint8Array(1)), _.cloneDeep({ b: Buffer.from('x') }).b.toString(),
    ]
  `;
  expect(await value(program)).toEqual([
    { a: 4, b: 2 },
    [3, 2, 1],
    { a: { b: 1, c: 2 } },
    'Hello you',
    true,
    true,
    false,
    'x',
  ]);
});

test('simple-statistics describes a sample and fits a line', async () => {
  const program = code`
    import * as ss from 'simple-statistics';
    const { median } = requireVendor('simple-statistics');
    const fit = ss.linearRegression([[0, 1], [1, 3], [2, 5]]);
    [ss.mean([1, 2, 3, 4]), median([5, 1, 4]), ss.standardDeviation([2, 4, 4, 4, 5, 5, 7, 9]), fit, ss.quantile([1, 2, 3, 4, 5], 0.9)]
  `;
  expect(await value(program)).toEqual([2.5, 4, 2, { m: 2, b: 1 }, 4.6]);
});

test('decimal.js calculates exact decimals with the requested precision', async () => {
  const program = code`
    import Decimal from 'decimal.js';
    Decimal.set({ precision: 50 });
    [new Decimal('0.1').plus('0.2').toString(), new Decimal(2).sqrt().toString(), Decimal.ROUND_UP]
  `;
  expect(await value(program)).toEqual(['0.3', '1.4142135623730950488016887242096980785696718753769', 0]);
});

test('yaml reads anchors and preserves comments', async () => {
  const program = code`
    import YAML, { parseDocument } from 'yaml';
    const text = readText('in.yaml');
    const document = parseDocument(text);
    document.setIn(['server', 'port'], 8080);
    [YAML.parse(text), document.toString(), YAML.stringify({ list: [1, 'two'] })]
  `;
  const text = '# settings\nserver: &s\n  port: 80 # default\ncopy: *s\n';
  expect(await value(program, { 'in.yaml': text })).toEqual([
    { server: { port: 80 }, copy: { port: 80 } },
    '# settings\nserver: &s\n  port: 8080 # default\ncopy: *s\n',
    'list:\n  - 1\n  - two\n',
  ]);
});

test('js-yaml loads, dumps and reports invalid YAML', async () => {
  const program = code`
    import yaml from 'js-yaml';
    let problem;
    try { yaml.load('a: [1'); } catch (error) { problem = error.name; }
    [yaml.load('a:\\n  - 1\\n  - b: true'), yaml.dump({ x: { list: [1, 2] } }), problem]
  `;
  expect(await value(program)).toEqual([
    { a: [1, { b: true }] },
    'x:\n  list:\n    - 1\n    - 2\n',
    'YAMLException',
  ]);
});

test('marked renders Markdown with tables', async () => {
  const program = code`
    import { marked } from 'marked';
    [marked.parse('# Title\\n\\nSome *text*.'), marked.parse('|a|b|\\n|-|-|\\n|1|2|').includes('<td>2</td>')]
  `;
  expect(await value(program)).toEqual(['<h1>Title</h1>\n<p>Some <em>text</em>.</p>\n', true]);
});

test('mustache renders sections and escapes', async () => {
  const program = code`
    import Mustache from 'mustache';
    Mustache.render('{{#people}}<{{name}}>{{/people}}{{^none}}!{{/none}}', { people: [{ name: 'A&B' }, { name: 'C' }] })
  `;
  expect(await value(program)).toBe('<A&amp;B><C>!');
});

test('handlebars compiles templates with helpers, partials and blocks', async () => {
  const program = code`
    const Handlebars = requireVendor('handlebars');
    Handlebars.registerHelper('loud', (text) => text.toUpperCase());
    Handlebars.registerPartial('item', '{{loud name}}={{n}}');
    const template = Handlebars.compile('{{#each rows}}{{> item}}{{#unless @last}}, {{/unless}}{{/each}}');
    template({ rows: [{ name: 'a', n: 1 }, { name: 'b', n: 2 }] })
  `;
  expect(await value(program)).toBe('A=1, B=2');
});

test('zod validates data and reports the path of each problem', async () => {
  const program = code`
    import { z } from 'zod';
    import whole from 'zod';
    const User = z.object({ name: z.string().min(1), age: z.coerce.number().int(), mail: z.email().optional() });
    const { success, error } = User.safeParse({ name: '', age: 'x' });
    [User.parse({ name: 'Ann', age: '7' }), success, error.issues.map(({ path }) => path.join('.')), whole.z === z]
  `;
  expect(await value(program)).toEqual([{ name: 'Ann', age: 7 }, false, ['name', 'age'], true]);
});

test('ajv compiles a JSON Schema and reports all errors', async () => {
  const program = code`
    import Ajv from 'ajv';
    const check = new Ajv({ allErrors: true }).compile({
      type: 'object', required: ['id'], additionalProperties: false,
      properties: { id: { type: 'integer', minimum: 1 }, tags: { type: 'array', items: { type: 'string' } } },
    });
    const good = check({ id: 1, tags: ['x'] });
    const bad = check({ id: 0, tags: [1], more: true });
    [good, bad, check.errors.map(({ keyword }) => keyword).sort()]
  `;
  expect(await value(program)).toEqual([true, false, ['additionalProperties', 'minimum', 'type']]);
});

test('fast-xml-parser reads attributes, builds XML and validates', async () => {
  const program = code`
    import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
    const options = { ignoreAttributes: false };
    const data = new XMLParser(options).parse('<r><i id="1">a</i><i id="2">b &amp; c</i></r>');
    [data, new XMLBuilder(options).build({ r: { '@_v': '1', t: 'x<y' } }), XMLValidator.validate('<a><b></a>') === true]
  `;
  expect(await value(program)).toEqual([
    {
      r: {
        i: [
          { '#text': 'a', '@_id': '1' },
          { '#text': 'b & c', '@_id': '2' },
        ],
      },
    },
    '<r v="1"><t>x&lt;y</t></r>',
    false,
  ]);
});

test('mathjs evaluates expressions, with named imports and as a whole', { tags: 'full' }, async () => {
  const program = code`
    import math, { add, Complex, evaluate, map, pi, square } from 'mathjs';
    [
      evaluate('2 inch to cm').toString(), math.det([[1, 2], [3, 4]]), math.format(math.fraction(1, 3)), add(1, 2), pi,
      new Complex(1, 2).toString(), map([1, 2], square), math.complex(1, 1) instanceof Complex,
    ]
  `;
  expect(await value(program)).toEqual(['5.08 cm', -2, '1/3', 3, Math.PI, '1 + 2i', [1, 4], true]);
});

test('ml-matrix, d3-array, d3-scale, d3-shape and arquero compute with numbers and tables', async () => {
  const program = code`
    import { inverse, Matrix, solve } from 'ml-matrix';
    import { extent, rollup, sum, ticks } from 'd3-array';
    import { scaleBand, scaleLinear } from 'd3-scale';
    import { line, pie } from 'd3-shape';
    import * as aq from 'arquero';
    const matrix = new Matrix([[2, 1], [1, 3]]);
    const scale = scaleLinear().domain([0, 10]).range([0, 100]);
    const table = aq.table({ k: ['a', 'b', 'a'], v: [1, 2, 3] });
    [
      inverse(matrix).to2DArray(), solve(matrix, Matrix.columnVector([3, 5])).to1DArray(),
      extent([3, 1, 2]), [...rollup([['a', 1], ['a', 3]], (rows) => sum(rows, (row) => row[1]), (row) => row[0])], ticks(0, 10, 5),
      scale(5), scale.tickFormat(5)(2), scaleBand(['a', 'b'], [0, 100]).bandwidth(), line()([[0, 0], [1, 2]]), pie()([1, 1]).length,
      table.groupby('k').rollup({ s: (d) => aq.op.sum(d.v) }).objects(), table.filter((d) => d.v > 1).toCSV(),
    ]
  `;
  expect(await value(program)).toEqual([
    [
      [0.6000000000000001, -0.2],
      [-0.2, 0.4],
    ].map((row) => row.map((n) => expect.closeTo(n, 9))),
    [expect.closeTo(0.8, 9), expect.closeTo(1.4, 9)],
    [1, 3],
    [['a', 4]],
    [0, 2, 4, 6, 8, 10],
    50,
    '2',
    50,
    'M0,0L1,2',
    2,
    [
      { k: 'a', s: 4 },
      { k: 'b', s: 2 },
    ],
    'k,v\nb,2\na,3\n',
  ]);
});

test('xlsx, jszip, fflate and pdf-lib write files that they can read', { tags: 'full' }, async () => {
  const program = code`
    const XLSX = require('xlsx');
    const JSZip = require('jszip');
    const { gunzipSync, gzipSync, strFromU8, strToU8 } = require('fflate');
    const { PDFDocument, StandardFonts } = require('pdf-lib');
    async function main() {
      const book = XLSX.utils.book_new();
      XLSX.utils.book_append_sheet(book, XLSX.utils.json_to_sheet([{ a: 1, b: 'x' }]), 'S');
      XLSX.writeFile(book, 'x.xlsx');
      const zip = new JSZip();
      zip.file('a.txt', 'hello');
      const packed = await zip.generateAsync({ type: 'nodebuffer', compression: 'DEFLATE' });
      const pdf = await PDFDocument.create();
      pdf.addPage([200, 200]).drawText('Hi', { font: await pdf.embedFont(StandardFonts.Helvetica) });
      const bytes = await pdf.save();
      return [
        XLSX.utils.sheet_to_json(XLSX.readFile('x.xlsx').Sheets.S),
        await (await JSZip.loadAsync(packed)).file('a.txt').async('string'), Buffer.isBuffer(packed),
        strFromU8(gunzipSync(gzipSync(strToU8('hello')))), (await PDFDocument.load(bytes)).getPageCount(),
      ];
    }
    main()
  `;
  expect(await value(program)).toEqual([[{ a: 1, b: 'x' }], 'hello', true, 'hello', 1]);
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

test('uuid, nanoid, chalk, semver, validator and acorn work', async () => {
  const program = code`
    import { v4, v5, v7, validate, version } from 'uuid';
    import { customAlphabet, nanoid } from 'nanoid';
    import chalk from 'chalk';
    import semver from 'semver';
    import validator from 'validator';
    import { parse } from 'acorn';
    [
      validate(v4()), version(v7()), v5('x', v5.DNS), nanoid().length, customAlphabet('a', 5)(),
      chalk.red.bold('x') + chalk.hex('#fff')('y'), semver.satisfies('1.2.3', '^1.0.0'), semver.inc('1.2.3', 'minor'),
      validator.isEmail('a@b.co'), validator.escape('<'), parse('let a = 1', { ecmaVersion: 'latest' }).body[0].type,
    ]
  `;
  expect(await value(program)).toEqual([
    true,
    7,
    '05b16a01-46c6-56dd-bd6e-c6dfb4a1427a',
    21,
    'aaaaa',
    'xy',
    true,
    '1.3.0',
    true,
    '&lt;',
    'VariableDeclaration',
  ]);
});

test('cheerio, immutable and rxjs work', async () => {
  const program = code`
    import * as cheerio from 'cheerio';
    import { fromJS, List } from 'immutable';
    import { filter, from, interval, lastValueFrom, map, take, toArray } from 'rxjs';
    const $ = cheerio.load('<ul><li class=a>1</li><li>2 &amp; 3</li></ul>');
    $('li.a').attr('id', 'z');
    const doubled = from([1, 2, 3]).pipe(filter((n) => n > 1), map((n) => n * 2), toArray());
    [
      $('li').map((_, one) => $(one).text()).get(), $.html('li.a'),
      List([1, 2]).push(3).toJS(), fromJS({ a: [1] }).getIn(['a', 0]),
      await lastValueFrom(doubled), await lastValueFrom(interval(10).pipe(take(3), toArray())),
    ]
  `;
  expect(await value(program)).toEqual([
    ['1', '2 & 3'],
    '<li class="a" id="z">1</li>',
    [1, 2, 3],
    1,
    [4, 6],
    [0, 1, 2],
  ]);
});

test('csv-parse and csv-stringify read and write CSV', async () => {
  const program = code`
    import { parse } from 'csv-parse/sync';
    import { stringify } from 'csv-stringify/sync';
    import { parse as parseLater } from 'csv-parse';
    const records = parse('name,size\\n"a, b",2\\n', { columns: true, cast: true });
    const later = await new Promise((resolve, reject) =>
      parseLater('x;1', { delimiter: ';' }, (error, rows) => (error ? reject(error) : resolve(rows))),
    );
    [records, stringify([['a', 'b"c']]), later]
  `;
  expect(await value(program)).toEqual([[{ name: 'a, b', size: 2 }], 'a,"b""c"\n', [['x', '1']]]);
});

test('xml2js, markdown-it and turndown convert documents', async () => {
  const program = code`
    import xml2js from 'xml2js';
    import MarkdownIt from 'markdown-it';
    import TurndownService from 'turndown';
    const { list } = await xml2js.parseStringPromise('<list><item id="1">a</item></list>');
    const html = new MarkdownIt().render('# Title\\n\\n* *one*');
    [
      list.item[0],
      new xml2js.Builder({ headless: true, renderOpts: { pretty: false } }).buildObject({ a: { b: 1 } }),
      html,
      new TurndownService({ headingStyle: 'atx' }).turndown(html),
    ]
  `;
  expect(await value(program)).toEqual([
    { _: 'a', $: { id: '1' } },
    '<a><b>1</b></a>',
    '<h1>Title</h1>\n<ul>\n<li><em>one</em></li>\n</ul>\n',
    '# Title\n\n*   _one_',
  ]);
});

test('docx and pptxgenjs write documents that mammoth and jszip read', { tags: 'full' }, async () => {
  const program = code`
    import { Document, HeadingLevel, Packer, Paragraph } from 'docx';
    import mammoth from 'mammoth';
    import PptxGenJS from 'pptxgenjs';
    import JSZip from 'jszip';
    const children = [new Paragraph({ text: 'Report', heading: HeadingLevel.HEADING_1 }), new Paragraph('Text')];
    const buffer = await Packer.toBuffer(new Document({ sections: [{ children }] }));
    const html = await mammoth.convertToHtml({ arrayBuffer: new Uint8Array(buffer).buffer });
    const slides = new PptxGenJS();
    slides.addSlide().addText('Hello', { x: 1, y: 1 });
    const zip = await JSZip.loadAsync(await slides.write({ outputType: 'uint8array' }));
    [html.value, (await zip.file('ppt/slides/slide1.xml').async('string')).includes('Hello')]
  `;
  expect(await value(program)).toEqual(['<h1>Report</h1><p>Text</p>', true]);
});

test('moment, commander, minimist, dotenv, p-limit and bignumber.js work', async () => {
  const program = code`
    import moment from 'moment';
    import { Command } from 'commander';
    import minimist from 'minimist';
    import dotenv from 'dotenv';
    import pLimit from 'p-limit';
    import BigNumber from 'bignumber.js';
    const options = new Command().option('-n, --number <n>').parse(['node', 'main', '-n', '3']).opts();
    const limit = pLimit(1);
    let running = 0;
    const most = await Promise.all([1, 2, 3].map(() => limit(async () => {
      const now = ++running;
      await null;
      running--;
      return now;
    })));
    [
      moment.utc('2024-01-31').add(1, 'month').format('YYYY-MM-DD'),
      options,
      minimist(['--a=1', 'b']),
      dotenv.parse('A=1\\nB="two words"'),
      most,
      new BigNumber('0.1').plus('0.2').toString(),
    ]
  `;
  expect(await value(program)).toEqual([
    '2024-02-29',
    { number: '3' },
    { _: ['b'], a: 1 },
    { A: '1', B: 'two words' },
    [1, 1, 1],
    '0.3',
  ]);
});
