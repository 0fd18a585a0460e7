/** Attacks of programs on secrets that they may send but not see, with servers that repeat what they receive, and on recordings. */
import { statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSandbox } from '@llm-wasm-sandbox/core/internal';
import type { ScenarioAttack, Surrounded } from '../attack.ts';
import { mismatch } from '../match.ts';
import { withStalls } from '../stalls.ts';

const MAX_STALL_MS = 200;
/** 60 characters, so that its base64 has no padding and needs more than a line of 76 characters. */
const VALUE = 'kZ8<Qv>&\'"/+=`7Bq-_w~'.padEnd(60, 'x<&>/+=\'"');

type Server = (request: IncomingMessage, response: ServerResponse) => void;

/** A sandbox that may send its secrets to a server. In a program, `AT` and `KEY` are the server and the placeholder of the first secret. */
async function withServer(
  { folder }: Surrounded,
  server: Server,
  use: (run: (code: string) => Promise<string>) => Promise<string[]>,
  secrets: readonly string[] = [VALUE],
): Promise<string[]> {
  const http = createServer({ maxHeaderSize: 64 * 1024 }, server);
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  const allow = [`${origin}*`];
  const named = secrets.map((value, i) => [`KEY_${i}`, { value, allow }] as const);
  try {
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      policy: {
        fuel_budget: 20e9,
        network: { allow, secrets: Object.fromEntries(named), record: join(folder, 'recording.har') },
      },
    });
    const header = `const AT = ${JSON.stringify(origin)}, KEY = process.env.KEY_0;\n`;
    const run = async (code: string) => {
      const { stdout, stderr } = await sandbox.execute(header + code);
      return stdout + stderr;
    };
    return await use(run);
  } finally {
    http.close();
    http.closeAllConnections();
  }
}

const unicode = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
const json =
  (characters: RegExp, spell = unicode) =>
  (text: string) =>
    JSON.stringify(text).slice(1, -1).replace(characters, spell);
const html = (references: Readonly<Record<string, string>>) => (text: string) =>
  text.replace(/\W/g, (one) => references[one] ?? one);
const BASIC = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** How servers write a text by default. */
const SERVERS: Readonly<Record<string, (text: string) => string>> = {
  'go-json': json(/[<>&]/g),
  'gson-json': json(/[<>&'=]/g),
  'flask-json': json(/[<>&']/g),
  'asp-net-json': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll('\\"', '\\u0022')
      .replace(/[<>&'+`]/g, (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`),
  'handlebars-html': html({ ...BASIC, "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' }),
  'mustache-html': html({ ...BASIC, "'": '&#39;', '/': '&#x2F;', '`': '&#x60;', '=': '&#x3D;' }),
  'go-html': html({ ...BASIC, '"': '&#34;', "'": '&#39;', '+': '&#43;' }),
  'asp-net-html': html({ ...BASIC, "'": '&#x27;', '+': '&#x2B;' }),
  'mime-base64': (text) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n'),
};

/** Each program must print exactly this, and must not stall the host. */
type Programs = readonly (readonly [code: string, stdout: string])[];

const row = (
  name: string,
  server: Server,
  programs: Programs,
  secrets?: readonly string[],
): ScenarioAttack => ({
  name,
  attack: (given) =>
    withServer(
      given,
      server,
      async (run) => {
        await run('await (await fetch(AT)).text()');
        return withStalls(MAX_STALL_MS, async () => {
          const problems: string[] = [];
          for (const [code, stdout] of programs) {
            const seen = await run(code);
            if (seen !== stdout) problems.push(`the program printed ${JSON.stringify(seen.slice(0, 300))}`);
          }
          return problems;
        });
      },
      secrets,
    ),
});

/** Prints what the server answers to a request with a secret. */
const printEcho = (authorization: string) =>
  `const answer = await fetch(AT, { headers: { authorization: ${authorization} } });
console.log((await answer.text()).replace(KEY, 'hidden'))`;

const repeatHeader: Server = ({ headers }, response) => response.end(headers.authorization);

/** An echo of a credential shows the characters of its base64 that have no bit of the secret. */
const echoedCredentials = ['a:', 'ab:', 'abc:'].map((user) => {
  const shown = Buffer.from(user)
    .toString('base64')
    .slice(0, Math.floor((user.length * 8) / 6));
  const padding = '='.repeat((3 - (user.length % 3)) % 3);
  return [printEcho(`'Basic ' + btoa('${user}' + KEY)`), `Basic ${shown}hidden${padding}\n`] as const;
});

/** Texts that look like beginnings of secrets or of their encodings, each as a response of 64 KiB. */
const PATTERNS = [
  'AAAA',
  'YWFh',
  '%25',
  '%2525',
  '\\\\',
  '\\u005c',
  '&amp;',
  'kZ8<Qv>&',
  'kZ8\\u003c',
  'a1o4',
];
const searchedLong = `for (let i = 0; i < 40; i++) {
  const authorization = 'Basic ' + btoa('\\0'.repeat(9000 + i) + KEY);
  await (await fetch(AT, { headers: { authorization } })).text();
}
for (const text of ${JSON.stringify(PATTERNS)}) {
  const body = text.repeat(Math.floor(65536 / text.length));
  console.log(await (await fetch(AT, { method: 'POST', body })).text() === body);
}`;

export const SECRETS: readonly ScenarioAttack[] = [
  ...Object.entries(SERVERS).map(([name, written]) =>
    row(
      `echoed-secret-${name}`,
      ({ headers }, response) => response.end(`[${written(headers.authorization ?? '')}]`),
      [[printEcho('KEY'), '[hidden]\n']],
    ),
  ),
  row('echoed-basic-credential', repeatHeader, echoedCredentials),
  row('stall-search-for-secrets', (request, response) => void request.pipe(response), [
    [searchedLong, 'true\n'.repeat(PATTERNS.length)],
  ]),
  row(
    'stall-long-headers',
    (_, response) => {
      for (let i = 0; i < 60; i++) response.setHeader(`x-${i}`, 'a'.repeat(990));
      response.end();
    },
    [
      [
        'for (let i = 0; i < 5; i++) console.log((await fetch(AT)).headers.get("x-59").length)',
        '990\n'.repeat(5),
      ],
    ],
    Array.from({ length: 10 }, (_, i) => `${VALUE}-${i}`),
  ),
  {
    name: 'recording-written-again',
    attack: (given) =>
      withServer(
        given,
        (_, response) => response.end('x'.repeat(1_000_000)),
        async (run) => {
          const request = 'await (await fetch(AT)).text()';
          const stateAfter = async (code: string) => {
            await run(code);
            const { ino, mtimeMs, size } = statSync(join(given.folder, 'recording.har'));
            return { ino, mtimeMs, size };
          };
          const [first, unchanged, second] = [
            await stateAfter(request),
            await stateAfter('1'),
            await stateAfter(request),
          ];
          return [
            mismatch(unchanged, first, 'a recording to which nothing is added'),
            mismatch(
              { isFile: second.ino === first.ino, isLonger: second.size > first.size + 1e6 },
              { isFile: true, isLonger: true },
              'a recording to which a response is added',
            ),
          ].filter((problem) => problem !== undefined);
        },
      ),
  },
];
