/** What programs receive of a response that contains a secret: nothing that could be read, in any form that is promised. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secrets } from '../../packages/core/src/network/secrets.ts';
import { networkPolicy } from '../../packages/core/src/schema.ts';
import '../support/property-seed.ts';
import { repetitions } from '../support/repetitions.ts';
import { PYTHON_SERIALISERS, SERIALISERS } from './serialisers.ts';

const open = (...values: string[]) =>
  new Secrets(
    networkPolicy.parse({
      secrets: Object.fromEntries(
        values.map((value, i) => [`KEY_${i}`, { value, allow: ['https://api.example/*'] }]),
      ),
    }),
    undefined,
  );

/** What a program receives of a body in pieces. */
async function receive(secrets: Secrets, ...pieces: readonly Uint8Array[]): Promise<string> {
  async function* body() {
    yield* pieces;
  }
  const received: Uint8Array[] = [];
  for await (const piece of secrets.hideInBody(body())) received.push(piece);
  return Buffer.concat(received).toString('latin1');
}

const bytesOf = (text: string) => Buffer.from(text, 'latin1');
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  plus: '+',
  sol: '/',
};
const DECODERS: readonly ((text: string) => string)[] = [
  (text) => text.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  (text) =>
    text.replace(/\\(?:u([\da-f]{4})|x([\da-f]{2})|([^\w\s]))/gi, (_, four, two, one) =>
      one === undefined ? String.fromCharCode(Number.parseInt(four ?? two, 16)) : one,
    ),
  (text) =>
    text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));?/gi, (whole, hex, decimal, name) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      return String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
    }),
];
const bytesIn: readonly ((text: string) => string)[] = [
  ...[0, 1, 2, 3].map((from) => (text: string) => {
    const characters = text.replace(/[^\w+/-]/g, '').slice(from);
    return Buffer.from(characters, 'base64').toString('latin1');
  }),
  ...[0, 1].map((from) => (text: string) => {
    const digits = text.replace(/0x|[^\da-f]/gi, '').slice(from);
    return Buffer.from(digits, 'hex').toString('latin1');
  }),
  (text) => text.replace(/(\d+)[,\s\]]*/g, (_, number) => String.fromCharCode(Number(number) & 255)),
];

/** All that a program could read in a text by decoding it. */
function readings(text: string): string[] {
  let layer = [text];
  const all = [text];
  for (let i = 0; i < 2; i++) {
    layer = layer.flatMap((one) => DECODERS.map((decode) => decode(one)));
    all.push(...layer);
  }
  return [...all, ...all.flatMap((one) => bytesIn.map((decode) => decode(one)))];
}

/** Four consecutive characters of a secret that can be read in a text. */
function readable(secrets: Secrets, secret: string, text: string): string | undefined {
  const shown = Object.values(secrets.placeholders).reduce((rest, one) => rest.replaceAll(one, '\0'), text);
  const views = readings(shown);
  for (let i = 0; i + 4 <= secret.length; i++) {
    const part = secret.slice(i, i + 4);
    if (views.some((view) => view.includes(part))) return part;
  }
  return undefined;
}

async function expectHidden(secret: string, body: string): Promise<void> {
  const secrets = open(secret);
  const text = await receive(secrets, bytesOf(body));
  expect(readable(secrets, secret, text), `of ${body}`).toBeUndefined();
  expect(text).toContain(secrets.placeholders['KEY_0']);
}

const SECRETS = [
  'kZ8<Qv>&\'"/+=`\\ %7Bq-_w~',
  '+/=+/=&&<<>>\'\'""``',
  'ghp_4bZ9QxYt7Lw2Rk8Vn3Jm',
  'e1/f2+g3=h4&i5<j6>k7"l8\'m9\\n0',
];
/** A character of a secret in one of the ways in which servers write it. */
const spelling = (code: number): fc.Arbitrary<string> => {
  const one = String.fromCharCode(code);
  const hex = code.toString(16).padStart(2, '0');
  return fc.constantFrom(
    ...[
      one,
      one,
      one,
      `%${hex}`,
      `%${hex.toUpperCase()}`,
      `\\u00${hex}`,
      `\\u00${hex.toUpperCase()}`,
      `\\x${hex}`,
    ],
    ...[`&#${code};`, `&#x${hex};`, `&#x${hex.toUpperCase()};`, `&#0${code};`, `&#x00${hex};`],
    ...Object.entries(NAMED).flatMap(([name, known]) => (known === one ? [`&${name};`] : [])),
    ...('"\\/\''.includes(one) ? [`\\${one}`] : []),
  );
};
const printable = fc.integer({ min: 0x21, max: 0x7e });
const anySecret = fc
  .array(printable, { minLength: 8, maxLength: 40 })
  .map((codes) => String.fromCharCode(...codes));
const spelled = (secret: string) =>
  fc.tuple(...Array.from(secret, (one) => spelling(one.charCodeAt(0)))).map((parts) => parts.join(''));
/** Encodings of all that was encoded before. */
const LAYERS = [
  'plain text',
  'Go encoding/json',
  'mustache',
  'encodeURIComponent',
  'Laravel, Symfony (json_encode)',
];
const longest = (secret: string) => 12 * 16 * Math.ceil(secret.length / 16);

describe('secret in a response', () => {
  test.each(Object.keys(SERIALISERS))('cannot be read as %s', async (name) => {
    for (const secret of SECRETS) await expectHidden(secret, `before ${SERIALISERS[name]!(secret)} after`);
  });

  test('cannot be read in what Python writes', { tags: 'full' }, async () => {
    const input = JSON.stringify(SECRETS);
    const output = execFileSync('python3', ['-c', PYTHON_SERIALISERS], { input, encoding: 'utf8' });
    const rows = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string[]);
    for (const [i, secret] of SECRETS.entries())
      for (const body of rows[i]!) await expectHidden(secret, `before ${body} after`);
  });

  test('cannot be read if it has characters beyond ASCII', async () => {
    const secret = 'pässwörd-with-ünicode';
    const forms = [secret, Buffer.from(secret).toString('latin1'), JSON.stringify(secret)];
    const names = [
      'Django (json)',
      'ASP.NET (HtmlEncoder)',
      'encodeURIComponent',
      'base64',
      'base64 after a byte',
      'base64 of UTF-16',
      'object of bytes',
      'signed bytes of Java',
    ];
    for (const body of [...forms, ...names.map((name) => SERIALISERS[name]!(secret))])
      await expectHidden(secret, `before ${body} after`);
  });

  // guarantee: secrets
  // proves: No four characters of a secret remain readable in a response that mixes the encodings of servers.
  test('cannot be read in a mixture of encodings, between other characters and in pieces', async () => {
    const others = fc.constantFrom(
      '',
      '%',
      '%2',
      '\\',
      '\\u00',
      '&',
      '&#',
      '&#6',
      '"',
      '=',
      '0',
      'A',
      '41',
      ';',
      'amp;',
    );
    const cases = anySecret.chain((secret) =>
      fc.tuple(
        fc.constant(secret),
        spelled(secret),
        fc.constantFrom(...LAYERS),
        others,
        others,
        fc.integer({ min: 1, max: 99 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([secret, form, layer, before, after, size]) => {
        const body = SERIALISERS[layer]!(`${before}${form}${after}`);
        fc.pre(body.length <= longest(secret));
        const secrets = open(secret);
        const bytes = bytesOf(`${'-'.repeat(500)}${body}${'-'.repeat(500)}`);
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        const text = await receive(secrets, ...pieces);
        expect(readable(secrets, secret, text)).toBeUndefined();
        expect(text).toContain(secrets.placeholders['KEY_0']);
      }),
      { numRuns: repetitions(300, 20_000) },
    );
  });

  test('is replaced completely in base64, whatever is before and after it', async () => {
    await fc.assert(
      fc.asyncProperty(
        anySecret,
        fc.uint8Array({ maxLength: 9 }),
        fc.uint8Array({ maxLength: 9 }),
        async (secret, before, after) => {
          const secrets = open(secret);
          const placeholder = secrets.placeholders['KEY_0']!;
          const encoded = Buffer.concat([before, bytesOf(secret), after]).toString('base64');
          const received = await receive(secrets, bytesOf(`Basic ${encoded} end`));
          const end = before.length + secret.length;
          // Only the characters all of whose bits belong to other bytes remain.
          const [first, last] = [Math.floor((before.length * 8) / 6), Math.ceil((end * 8) / 6)];
          expect(received).toBe(`Basic ${encoded.slice(0, first)}${placeholder}${encoded.slice(last)} end`);
        },
      ),
      { numRuns: repetitions(200, 5000) },
    );
  });

  test('leaves everything else as it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 3000 }),
        fc.array(fc.constantFrom(...'\\%&=+"0u;#x'), { maxLength: 500 }),
        async (bytes, escapes) => {
          const body = Buffer.concat([bytes, bytesOf(escapes.join(''))]);
          expect(await receive(open(...SECRETS), body)).toBe(body.toString('latin1'));
        },
      ),
      { numRuns: repetitions(100, 2000) },
    );
  });

  test('is replaced each time, next to others', async () => {
    const [one, two] = ['first-secret', 'second-secret'];
    const secrets = open(one, two);
    const { KEY_0, KEY_1 } = secrets.placeholders;
    const text = await receive(secrets, bytesOf(`${one}${two}${one}${one}-${two.slice(0, -1)}`));
    expect(text).toBe(`${KEY_0}${KEY_1}${KEY_0}${KEY_0}-second-secre`);
  });

  test('is replaced in headers, of which none affects another', async () => {
    const secrets = open('first-secret');
    const placeholder = secrets.placeholders['KEY_0'];
    const headers = [
      ['x-a', 'a first-'],
      ['x-b', 'secret'],
      ['Content-Length', '1'],
      ['x-c', 'first%2Dsecret'],
    ] as const;
    expect(await secrets.hideInHeaders(headers)).toEqual([
      ['x-a', 'a first-'],
      ['x-b', 'secret'],
      ['x-c', placeholder],
    ]);
  });
});

describe('secret that repeats itself', () => {
  test.each([
    ['1,024 equal characters', 'a'.repeat(1024)],
    ['a short part', 'abc'.repeat(200)],
    ['decimal bytes', 'o'.repeat(40)],
    ['a part of four characters', 'abcd'.repeat(256)],
  ])('is refused: %s', (_, secret) => {
    expect(() => open('first-secret', secret)).toThrow(
      'policy.network.secrets.KEY_1: it repeats itself too often',
    );
  });

  test('is hidden if it does so less often', async () => {
    for (const secret of ['a'.repeat(60), 'secret--'.repeat(30), `sk-${'ab'.repeat(400)}`])
      for (const encoding of ['latin1', 'base64', 'hex'] as const)
        await expectHidden(secret, `-${bytesOf(secret).toString(encoding)}-`);
  });

  test('only in texts that are read in many ways fails a response that is such a text', async () => {
    // The Thue-Morse sequence does not repeat itself, but each part of it can be read in the same text.
    const quoted = Array.from({ length: 680 }, (_, i) =>
      i.toString(2).replaceAll('0', '').length % 2 === 0 ? '"' : '\\"',
    );
    const secret = quoted.join('');
    await expect(receive(open(secret), bytesOf('\\"'.repeat(2000)))).rejects.toMatchObject({ kind: 'limit' });
  });
});
