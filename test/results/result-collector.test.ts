import { describe, expect, it } from 'vitest';
import { decodeResult } from '../../packages/core/src/results/encoded-result.ts';
import { ResultCollector } from '../../packages/core/src/results/result-collector.ts';
import { RESULT_LIMITS } from '../../packages/core/src/results/result-limits.ts';
import type { DisplayResult } from '../../packages/core/src/schema.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const png = (width: number, height: number, padding = 0) => {
  const bytes = new Uint8Array(33 + padding);
  bytes.set([0x89, ...encode('PNG\r\n\x1a\n'), 0, 0, 0, 13, ...encode('IHDR')]);
  new DataView(bytes.buffer).setUint32(16, width);
  new DataView(bytes.buffer).setUint32(20, height);
  return bytes;
};

function collect({ hasRoom = true } = {}) {
  const results: DisplayResult[] = [];
  const files = new Map<string, Uint8Array>();
  const collector = new ResultCollector({
    onResult: (result) => results.push(decodeResult(result)),
    store: (name, bytes) => {
      if (!hasRoom) return undefined;
      files.set(`results/${name}`, bytes);
      return `results/${name}`;
    },
  });
  const send = (message: unknown, image?: Uint8Array) => {
    const json = encode(JSON.stringify(message));
    return collector.receive(image === undefined ? json : new Uint8Array([...json, 0, ...image]));
  };
  return { collector, results, files, send };
}

describe('the result collector', () => {
  it('maps MIME types to fields, the richest first', () => {
    const { send, results } = collect();
    const data = {
      'text/plain': 'x',
      'text/html': '<b>x</b>',
      'application/json': { a: [1] },
      'text/latex': '$x$',
    };
    expect(send({ data })).toBeUndefined();
    expect(results).toEqual([
      {
        id: 'r1',
        is_main_result: false,
        mime: 'text/html',
        size_bytes: 8,
        html: '<b>x</b>',
        latex: '$x$',
        json: { a: [1] },
        text: 'x',
      },
    ]);
  });

  it('adds the data of a chart that the program has drawn, up to the limit of a form', () => {
    const { send, results } = collect();
    const chart = { type: 'line', title: 'T', elements: [] };
    send({ data: { 'e2b/chart': chart }, binary: 'image/png' }, png(3, 4));
    send({ data: { 'e2b/chart': { title: 'x'.repeat(RESULT_LIMITS.formBytes) }, 'text/plain': 'x' } });
    send({ data: { 'e2b/chart': 'text', 'text/plain': 'x' } });
    expect(results.map((one) => [one.mime, one.chart, one.omitted])).toEqual([
      ['image/png', chart, undefined],
      ['text/plain', undefined, ['e2b/chart']],
      ['text/plain', undefined, ['e2b/chart']],
    ]);
  });

  it('recognises an image by its content, not by its claimed type', () => {
    const { send, results } = collect();
    send({ data: {}, binary: 'image/gif' }, png(3, 4));
    expect(results[0]).toMatchObject({ mime: 'image/png', width: 3, height: 4, size_bytes: 33 });
    expect(Buffer.from(results[0]!.png!, 'base64')).toEqual(Buffer.from(png(3, 4)));
    expect(send({ data: {}, binary: 'image/png' }, encode('<svg/>'))).toBe('invalid');
  });

  it('shows a table as Markdown and as columns', () => {
    const { send, results } = collect();
    const rows = Array.from({ length: 60 }, (_, i) => [i, `a|b\n${i}`, { nested: true }]);
    send({ data: {}, table: { columns: ['n', 'text', 'other'], rows, total: 5000 } });
    const [{ markdown, data, mime }] = results as [DisplayResult];
    expect(mime).toBe('text/markdown');
    expect(markdown!.split('\n').slice(0, 3)).toEqual([
      '| n | text | other |',
      '| ---: | --- | ---: |',
      '| 0 | a\\|b 0 |  |',
    ]);
    expect(markdown).toMatch(/50 of 5000 rows are shown\.$/);
    expect(data!['n']).toHaveLength(60);
    expect(data!['other']![0]).toBeNull();
  });

  // guarantee: displayed-results
  it('keeps 20 results and counts the others without parsing them', () => {
    const { send, results, collector } = collect();
    for (let i = 0; i < 30; i++) send({ data: { 'text/plain': `${i}` } });
    expect(collector.receive(encode('not a message'))).toBeUndefined();
    expect(results).toHaveLength(RESULT_LIMITS.count);
    expect(collector.omitted).toBe(11);
  });

  it('writes the richest form to a file if it is too large', () => {
    const { send, results, files } = collect();
    const html = 'x'.repeat(RESULT_LIMITS.formBytes + 1);
    send({ data: { 'text/html': html, 'text/markdown': html, 'text/plain': 'x' } });
    const [{ path, ...result }] = results as [DisplayResult];
    expect(result).toMatchObject({
      mime: 'text/html',
      size_bytes: html.length,
      text: 'x',
      omitted: ['text/markdown'],
    });
    expect(files.get(path!)).toHaveLength(html.length);
    expect(result.html).toBeUndefined();
  });

  it('lists forms that are too large and cannot be written to a file', () => {
    const { send, results } = collect({ hasRoom: false });
    send({ data: { 'image/svg+xml': 'x'.repeat(RESULT_LIMITS.formBytes + 1), 'application/pdf': 'JVBE' } });
    expect(results[0]).toMatchObject({
      mime: 'image/svg+xml',
      omitted: ['image/svg+xml', 'application/pdf'],
    });
  });

  // guarantee: displayed-results
  it('limits the bytes of all results together', () => {
    const { send, results } = collect();
    for (let i = 0; i < 10; i++) send({ data: { 'text/html': 'x'.repeat(RESULT_LIMITS.formBytes) } });
    const inline = results.reduce((sum, { html = '' }) => sum + html.length, 0);
    expect(inline).toBe(RESULT_LIMITS.totalBytes);
    expect(results.filter(({ path }) => path !== undefined)).toHaveLength(6);
  });

  it('does not inline an image with too many pixels', () => {
    const { send, results } = collect();
    send({ data: {}, binary: 'image/png' }, png(100_000, 100_000));
    expect(results[0]).toMatchObject({ width: 100_000, height: 100_000, omitted: ['image/png'] });
    expect(results[0]!.png).toBeUndefined();
  });

  it('does not repeat an image that was displayed when it is also a file', () => {
    const { send, results, collector } = collect();
    send({ data: {}, binary: 'image/png' }, png(3, 4));
    collector.addFile('same.png', png(3, 4));
    collector.addFile('other.png', png(4, 3));
    collector.addFile('notes.txt', encode('PNG'));
    expect(results.map(({ path }) => path)).toEqual([undefined, 'other.png']);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['another type', '[]'],
    ['no data', '{"main":true}'],
    ['no form', '{"data":{}}'],
    ['forms that are not text', '{"data":{"text/html":5,"image/svg+xml":[]}}'],
    ['only unknown types', '{"data":{"application/x-shell":"rm"}}'],
    ['invalid tables', '{"data":{},"table":{"columns":[1],"rows":[]}}'],
  ])('rejects a message with %s', (_, text) => {
    const { collector, results } = collect();
    expect(collector.receive(encode(text))).toBe('invalid');
    expect(results).toEqual([]);
  });

  it.each([
    ['deep nesting', `{"data":{"application/json":${'['.repeat(5000)}${']'.repeat(5000)}}}`],
    ['too many members', `{"data":{"application/json":[${'0,'.repeat(400_001)}0]}}`],
  ])('rejects a message with %s as too complex', (_, text) => {
    const { collector, results } = collect();
    expect(collector.receive(encode(text))).toBe('too_complex');
    expect(results).toEqual([]);
  });

  // guarantee: displayed-results
  it('rejects a message that is too large', () => {
    const { collector } = collect();
    expect(collector.receive(new Uint8Array(RESULT_LIMITS.messageBytes + 1))).toBe('too_large');
  });

  it('does not pass on keys that change prototypes', () => {
    const { collector, results } = collect();
    for (const key of ['__proto__', '\\u005f_proto__'])
      collector.receive(encode(`{"data":{"application/json":{"${key}":{"a":1},"b":2}}}`));
    expect(results.map(({ json }) => Object.keys(json as object))).toEqual([['b'], ['b']]);
  });
});
