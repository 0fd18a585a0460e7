/** What programs display, through the tools and resources of the server. */
import type { Client } from '@modelcontextprotocol/client';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RecentResults } from '../../packages/core/src/model-text/recent-results.ts';
import { decodeResult } from '../../packages/core/src/results/encoded-result.ts';
import { ONLY_OWN_REQUEST, startListener } from '../support/listener.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { decodePng } from '../support/png.ts';

/** A program that displays a table, HTML, and images of 2 × 2 and 2000 × 1 pixels. */
const PROGRAM = `
import struct, zlib
def png(width, height):
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    header = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b'\\0' + b'\\x80' * width) * height)
    return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', rows) + chunk(b'IEND', b'')
display([{'city': 'Rome', 'people': 2.7}])
display('<b>page</b>', mime='text/html')
display(png(2, 2), mime='image/png')
open('wide.png', 'wb').write(png(2000, 1))
None`;

/** The images of a tool result, in base64. */
const imagesOf = (content: readonly { readonly type: string }[]) =>
  content.flatMap((block) => (block.type === 'image' ? [(block as unknown as { data: string }).data] : []));

interface Listed {
  readonly id: string;
  readonly mime: string;
  readonly uri: string;
}

describe('results over MCP', () => {
  let server: HttpServer;
  let client: Client;
  let session_id = '';
  let listed: Listed[] = [];
  let text = '';

  beforeAll(async () => {
    server = await startHttp();
    client = await httpClient(server, 'modern');
    const created = await call(client, 'create_session', { language: 'python' });
    session_id = String(created.structured['session_id']);
    const answer = await call(client, 'execute_code', { code: PROGRAM, language: 'python', session_id });
    listed = answer.structured['results'] as Listed[];
    ({ text } = answer);
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  test('execute_code lists descriptions with URIs, and shows Markdown in the text', () => {
    expect(listed).toMatchObject([
      { id: 'r1', mime: 'text/markdown' },
      { id: 'r2', mime: 'text/html', size_bytes: 11 },
      { id: 'r3', mime: 'image/png', width: 2, height: 2 },
      { id: 'r4', mime: 'image/png', width: 2000, height: 1, path: 'wide.png' },
    ]);
    expect(listed.map(({ uri }) => uri)).toEqual(
      ['r1', 'r2', 'r3', 'r4'].map((id) => `result://${session_id}/${id}`),
    );
    expect(text).toContain('| Rome | 2.7 |');
    expect(text).toContain('r3: image/png, 2 × 2 pixels');
    expect(text).toContain(`view_result(ids=["…"], session_id="${session_id}")`);
  });

  test('execute_code does not repeat a plain value, and has no list without results', async () => {
    const answer = await call(client, 'execute_code', { code: '6 * 7', language: 'python' });
    expect(answer.structured).not.toHaveProperty('results');
    expect(answer.text).not.toContain('results:');
  });

  test('view_result returns images as images and other results as text, without structured content', async () => {
    const answer = await call(client, 'view_result', { ids: ['r1', 'r2', 'r3'], session_id });
    expect(answer.content).toMatchObject([{ type: 'text' }, { type: 'image', mimeType: 'image/png' }]);
    expect(answer.text).toContain('<b>page</b>');
    expect(answer.structured).toEqual({});
  });

  test('view_result reduces large images, and names ids that do not exist', async () => {
    const wide = await call(client, 'view_result', { ids: ['r4'], session_id });
    expect(wide.text).toContain('wide.png, shown at 1568 × 1 pixels');
    const { width, height, at } = decodePng(imagesOf(wide.content)[0]!);
    expect([width, height, at(700, 0)]).toEqual([1568, 1, [128, 128, 128, 255]]);
    const missing = await call(client, 'view_result', { ids: ['r99'], session_id });
    expect([missing.isError, missing.text.includes('r4, r3, r2, r1')]).toEqual([true, true]);
    expect((await call(client, 'view_result', { ids: ['r1'] })).isError).toBe(true);
  });

  test('resources serve every result', async () => {
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0]!;
    expect(await read(listed[0]!.uri)).toMatchObject({ mimeType: 'text/markdown' });
    expect(await read(listed[1]!.uri)).toMatchObject({ mimeType: 'text/html', text: '<b>page</b>' });
    for (const { uri } of listed.slice(2)) {
      const { mimeType, blob } = (await read(uri)) as { mimeType: string; blob: string };
      expect([mimeType, Buffer.from(blob, 'base64').subarray(1, 4).toString()]).toEqual(['image/png', 'PNG']);
    }
    await expect(read('result://default/r1')).rejects.toThrow('no longer cached');
    await expect(read(`result://${session_id}/r99`)).rejects.toThrow('no longer cached');
  });
});

/** Images that programs create: the name, an SVG or the bytes as Python source, and the text of view_result. ORIGIN is that of a server. */
const IMAGES: readonly (readonly [name: string, source: string, text: RegExp])[] = [
  [
    'an SVG',
    `svg('<rect width="40" height="20" fill="#c00"/><text x="2" y="15">Ok</text>')`,
    /shown at 80 × 40/,
  ],
  [
    'an SVG with a document type',
    `'<!DOCTYPE svg PUBLIC "a" "ORIGIN/b.dtd">' + svg('<rect width="9" height="9"/>')`,
    /shown at 80 × 40/,
  ],
  ['a large photo', `noise(1600, 800)`, /shown at \d{3} × \d{3} pixels/],
  [
    'a GIF',
    `b'GIF89a' + struct.pack('<HH', 2000, 1) + bytes([0x80, 0, 0, 200, 0, 0, 0, 0, 0]) + b',' + struct.pack('<HHHHB', 0, 0, 2000, 1, 0) + gif_rows(2000)`,
    /shown at 1568 × 1/,
  ],
  ['a JPEG', `jpeg(2000)`, /image\/jpeg, 2000 × 8 pixels, .*, shown at 1568 × 6/],
  ['a small WebP', `webp(1500, 1000)`, /image\/webp, 1500 × 1000 pixels, 30 bytes, file \S+$/],
  [
    'a large WebP',
    `webp(1569, 1000)`,
    /not shown: it is too large, and images of the type image\/webp cannot be scaled down. Save it as PNG or JPEG, or make it smaller: at most 512\.7 KiB, and at most 1,568 pixels in each direction\. The resource/,
  ],
  [
    'scripts and references',
    `svg('<script>while(1);</script><style>@import url(ORIGIN/a.css);@font-face{font-family:x;src:url(ORIGIN/f)}</style><image width="40" height="20" xlink:href="ORIGIN/a.png"/><image width="40" height="20" xlink:href="file:///etc/passwd"/><use xlink:href="ORIGIN/a.svg#b"/><text font-family="x">a</text>')`,
    /shown at 80 × 40/,
  ],
  [
    'entities',
    `'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + svg('<text>&b;</text>')`,
    /not shown: its SVG declares entities/,
  ],
  [
    'nested use elements',
    `svg('<g id="g0"/>' + ''.join(f'<g id="g{i}"><use xlink:href="#g{i - 1}"/><use xlink:href="#g{i - 1}"/></g>' for i in range(1, 40)))`,
    /not shown: SVG data parsing failed cause nodes limit/,
  ],
  ['many use elements', `svg('<a:use/>' * 300)`, /not shown: its SVG has more than 200 use elements/],
  [
    'use elements that contain themselves',
    `svg('<g id="a"><use xlink:href="#b"/></g><g id="b"><use xlink:href="#a"/></g>')`,
    /not shown: SVG data/,
  ],
  ['deep nesting', `svg('<g>' * 40_000 + '</g>' * 40_000)`, /not shown: SVG data/],
  [
    'a huge height',
    `'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1e9"/>'`,
    /not shown: the renderer failed, or drawing it takes too much memory/,
  ],
  [
    'a filter with a huge region',
    `svg('<filter id="f" x="-99" y="-99" width="9999" height="9999"><feGaussianBlur stdDeviation="9"/></filter><rect width="40" height="20" filter="url(#f)"/>')`,
    /shown at 80 × 40/,
  ],
  ['text that is not SVG', `'hello'`, /not shown: SVG data parsing failed/],
  [
    'dimensions beyond the limit',
    `png(4, 4, b'')[:16] + struct.pack('>II', 100_000, 100_000) + png(4, 4, b'')[24:]`,
    /not shown: it has 100000 × 100000 pixels, and the limit is 24,000,000/,
  ],
  ['dimensions that are not true', `png(4000, 4000, b'')`, /not shown: it is damaged/],
  [
    'a damaged JPEG',
    `bytes.fromhex('ffd8ffc0001108076c076c03012200021101031101ffd9')`,
    /not shown: it is damaged/,
  ],
];

/** Images that use up the limits of fuel and time. */
const EXPENSIVE_IMAGES: typeof IMAGES = [
  [
    'a costly filter',
    `svg('<filter id="f" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency="0.9" numOctaves="1000000"/></filter><rect width="40" height="20" filter="url(#f)"/>')`,
    /not shown: drawing it takes too/,
  ],
  [
    'many large markers',
    `svg('<marker id="m" markerWidth="1500" markerHeight="1500"><rect width="1500" height="1500" opacity="0.5"/></marker><path marker-mid="url(#m)" d="M0 0' + 'h1v1' * 50_000 + '"/>')`,
    /not shown: drawing it takes too|not shown: the renderer failed/,
  ],
  [
    'huge text',
    `svg('<text font-size="1e6" y="1000">' + 'text and more text' * 20_000 + '</text>')`,
    /not shown: drawing it takes too/,
  ],
];
const TESTED_IMAGES = process.env['NIGHTLY_TESTS'] === '1' ? [...IMAGES, ...EXPENSIVE_IMAGES] : IMAGES;

const HELPERS = `
import random, struct, zlib
def png(width, height, data, level=1):
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(data, level)) + chunk(b'IEND', b'')
def noise(width, height):
    random.seed(1)
    return png(width, height, b''.join(b'\\0' + random.randbytes(width * 3) for _ in range(height)), level=0)
def gif_rows(width):
    # Codes of nine bits without compression: the clear code, then pixels with a clear code after every 100.
    codes = [128 if i % 101 == 0 else 0 for i in range(width + width // 100 + 1)] + [129]
    bits = sum(code << 8 * i for i, code in enumerate(codes))
    data = bits.to_bytes(len(codes), 'little')
    return bytes([7]) + b''.join(bytes([len(data[i:i+255])]) + data[i:i+255] for i in range(0, len(data), 255)) + b'\\0;'
def jpeg(width):
    # One component with blocks of a single color: the first has the difference 176 to the start value, the others have none.
    segment = lambda kind, data: bytes([0xff, kind]) + struct.pack('>H', len(data) + 2) + data
    table = lambda kind, counts, values: segment(0xc4, bytes([kind]) + bytes(counts).ljust(16, b'\\0') + bytes(values))
    bits = '10' + format(176, '08b') + '0' + '00' * (width // 8 - 1)
    data = int(bits.ljust(-len(bits) % 8 + len(bits), '1'), 2).to_bytes((len(bits) + 7) // 8, 'big')
    return (b'\\xff\\xd8' + segment(0xdb, b'\\0' + bytes([4]) * 64) + segment(0xc0, struct.pack('>BHHB', 8, 8, width, 1) + bytes([1, 0x11, 0]))
            + table(0x00, [1, 1], [0, 8]) + table(0x10, [1], [0]) + segment(0xda, bytes([1, 1, 0, 0, 63, 0])) + data + b'\\xff\\xd9')
def webp(width, height):
    size = lambda n: (n - 1).to_bytes(3, 'little')
    return b'RIFF' + struct.pack('<I', 22) + b'WEBPVP8X' + struct.pack('<II', 10, 0) + size(width) + size(height)
NAMES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:a="http://www.w3.org/2000/svg"'
svg = lambda content: f'<svg {NAMES} width="40" height="20">{content}</svg>'
def show(image):
    if isinstance(image, str): display(image, mime='image/svg+xml')
    else: display(image, mime='image/' + {b'\\xff\\xd8': 'jpeg', b'GI': 'gif', b'RI': 'webp'}.get(image[:2], 'png'))
`;

describe('images of programs', () => {
  test('are shown or rejected by view_result, without loading or running anything', {
    tags: 'full',
  }, async () => {
    await using listener = await startListener();
    await using server = await startHttp();
    await using client = await httpClient(server, 'modern');
    const ids: string[] = [];
    // A call has at most 20 results.
    for (const start of [0, 15]) {
      const shown = TESTED_IMAGES.slice(start, start + 15).map(([, source]) => `show(${source})`);
      const code = HELPERS + shown.join('\n').replaceAll('ORIGIN', listener.origin);
      const ran = await call(client, 'execute_code', { code, language: 'python' });
      ids.push(...(ran.structured['results'] as Listed[]).map(({ id }) => id));
    }
    expect(ids).toHaveLength(TESTED_IMAGES.length);
    const blocks = new Map<string, string | undefined>();
    for (const [i, [name, , text]] of TESTED_IMAGES.entries()) {
      const answer = await call(client, 'view_result', { ids: [ids[i]!] });
      expect.soft(answer.text, name).toMatch(text);
      blocks.set(name, imagesOf(answer.content)[0]);
    }
    const { at, isDark } = decodePng(blocks.get('an SVG')!);
    expect(at(78, 2)).toEqual([204, 0, 0, 255]);
    const columns = Array.from({ length: 30 }, (_, x) => x);
    expect(columns.some((x) => isDark(x, 20) && at(x, 20)[0] < 60)).toBe(true);
    expect(decodePng(blocks.get('a GIF')!).at(1500, 0)).toEqual([200, 0, 0, 255]);
    expect(decodePng(blocks.get('a JPEG')!).at(1500, 3)).toEqual([216, 216, 216, 255]);
    expect(blocks.get('a large photo')!.length).toBeLessThanOrEqual(700_000);
    expect(Buffer.from(blocks.get('a small WebP')!, 'base64').toString('latin1', 8, 12)).toBe('WEBP');
    expect(await listener.requests()).toEqual(ONLY_OWN_REQUEST);
  });
});

describe('cached results', () => {
  const result = { id: 'r1', is_main_result: false, mime: 'text/html', size_bytes: 1 };

  test('share one limit in number and size with outputs, and the oldest are evicted', async () => {
    const recent = new RecentResults();
    const output = recent.addOutput('s', 'stdout', 'x');
    for (let i = 0; i < 200; i++) recent.addResult('s', { ...result, html: 'x' });
    await recent.publish();
    const ids = await recent.resultIds('s');
    expect([ids.length, ids[0], await recent.result('s', 'r1')]).toEqual([164, 'r200', undefined]);
    expect(await recent.output(output)).toBeUndefined();
    recent.addResult('s', { ...result, html: 'x'.repeat(20_000_000) });
    recent.addOutput('t', 'stdout', 'y'.repeat(20_000_000));
    recent.addResult('t', { ...result, html: 'x' });
    await recent.publish();
    expect([await recent.resultIds('s'), await recent.resultIds('t')]).toEqual([[], ['r202']]);
    expect(await recent.result('s', 'r202')).toBeUndefined();
  });

  // A parsed object takes twenty times the bytes of its text.
  test('are kept as bytes, and all bytes are counted', async () => {
    const recent = new RecentResults();
    const json = `[${Array(100_000).fill('{}').join()}]`;
    const shown = decodeResult({ ...result, mime: 'application/json', json });
    const { id } = recent.addResult('s', shown);
    await recent.publish();
    expect(Object.getOwnPropertyDescriptor(shown, 'json')!.get).toBeTypeOf('function');
    expect([recent.bytes > json.length, recent.bytes < json.length * 1.1]).toEqual([true, true]);
    expect((await recent.result('s', id))!.result).toEqual(shown);
  });
});
