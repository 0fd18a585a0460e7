/** Forms as clients of E2B send them, and as no client does. */
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import { formFiles } from '../../packages/server/src/e2b/form-files.ts';

const TYPE = 'multipart/form-data; boundary=b';
const part = (name: string, content = '', field = 'file') =>
  `--b\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n\r\n${content}\r\n`;

const read = (body: string, type = TYPE) =>
  atOnce(formFiles(Buffer.from(body), type)).map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]);

/** The steps until a form is read or refused. */
function stepsOf(body: Uint8Array): { steps: number; refusal?: string } {
  const reading = formFiles(body, TYPE);
  for (let steps = 0; ; steps++) {
    try {
      if (reading.next().done === true) return { steps };
    } catch (cause) {
      return { steps, refusal: (cause as Error).message };
    }
  }
}

describe('a form', () => {
  test('is read as the Fetch API writes it', async () => {
    const files: [name: string, content: string | Uint8Array<ArrayBuffer>][] = [
      ['a.txt', 'text'],
      ['empty', ''],
      ['folder/ü 😀.txt', '\r\n--'],
      ['"quoted"; name="x"\nline', '\r\n\r\n--b\r\n----'],
      ['large', new Uint8Array(600_000).fill(45)],
      ['a.txt', 'again'],
    ];
    const form = new FormData();
    for (const [name, content] of files) form.append('file', new Blob([content]), name);
    form.append('other', 'ignored');
    form.append('file', 'without a name');
    const sent = new Response(form);
    const read = atOnce(
      formFiles(new Uint8Array(await sent.arrayBuffer()), sent.headers.get('content-type')!),
    );
    const expected = [...files, ['', 'without a name'] as const];
    expect(read.map(({ name }) => name)).toEqual(expected.map(([name]) => name));
    for (const [i, [, content]] of expected.entries())
      expect(Buffer.compare(Buffer.from(read[i]!.bytes), Buffer.from(content as string))).toBe(0);
  });

  test('is read with other headers, unquoted names and a quoted boundary', () => {
    const headers = 'X-Other: 1\r\ncontent-disposition:form-data ; name=file; filename=a; x="y"\r\nX: 2';
    expect(
      read(`--b c\r\n${headers}\r\n\r\n1\r\n--b c--`, 'multipart/form-data; x=y; boundary="b c"'),
    ).toEqual([['a', '1']]);
  });

  test.each([
    ['', TYPE],
    ['x', TYPE],
    ['--b', TYPE],
    ['--b\r\n', TYPE],
    ['--b\r\n\r\n\r\n--b--', TYPE],
    ['--b\r\nContent-Type: x\r\n\r\n\r\n--b--', TYPE],
    [part('a'), TYPE],
    [`${part('a')}--bx`, TYPE],
    [`${part('a').slice(0, -2)}--b--`, TYPE],
    [`${part('a'.repeat(9000))}--b--`, TYPE],
    [`${part('a')}--b--`, 'multipart/form-data'],
    [`${part('a')}--b--`, 'multipart/form-data; boundary=c'],
    [`${part('a')}--b--`, `multipart/form-data; boundary=${'b'.repeat(71)}`],
  ])('%j (%s) is refused', (body, type) => {
    expect(() => read(body, type)).toThrow('The form cannot be read');
  });

  // guarantee: request-limits
  // proves: A form of many parts is refused after the first 1,000, and a large file in a form is read in slices.
  test('is read in short steps, and not further than 1,000 parts', () => {
    expect(stepsOf(Buffer.from(`${part('a').repeat(1000)}--b--`))).toEqual({ steps: 1000 });
    expect(stepsOf(Buffer.from(`${part('a', '', 'other').repeat(100_000)}--b--`))).toEqual({
      steps: 1000,
      refusal: 'The form has more than 1000 parts. Send it as several requests',
    });
    const slices = 20;
    const { steps } = stepsOf(Buffer.from(`${part('a', 'x'.repeat(slices * 256 * 1024))}--b--`));
    expect(steps).toBeGreaterThanOrEqual(slices);
  });
});
