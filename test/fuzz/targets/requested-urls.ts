/**
 * URLs that a program requests, with hosts in any notation. An accepted URL is read in the same way by every other parser, in the form
 * in which it is sent and as the program has written it. The transport resolves the host that was checked, or refuses its address.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { addressBytes, isPublicAddress } from '../../../packages/core/src/network/addresses.ts';
import { LiveTransport } from '../../../packages/core/src/network/live-transport.ts';
import { NetworkRules } from '../../../packages/core/src/network/network-rules.ts';
import { replaceResolver } from '../../../packages/core/src/network/resolver.ts';
import {
  authorityOf,
  type CheckedUrl,
  checkUrl,
  hrefOf,
} from '../../../packages/core/src/schema/url-pattern.ts';
import { networkPolicy } from '../../../packages/core/src/schema.ts';
import type { FuzzTarget } from '../target.ts';
import { startInstalledReaders } from '../urls/installed-readers.ts';
import { READERS, type ReadUrl } from '../urls/readers.ts';

const PORT = '8080';
/** Mostly one of the usual texts, so that most URLs have few unusual parts. */
const mostly = (usual: readonly string[], ...unusual: readonly string[]) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...unusual) },
  );
const number = (value: number) =>
  fc.constantFrom(
    String(value),
    `0x${value.toString(16)}`,
    `0${value.toString(8)}`,
    `0X00${value.toString(16)}`,
  );
const wide = (text: string) =>
  text.replace(/[\d.]/g, (one) => (one === '.' ? '。' : String.fromCharCode(one.charCodeAt(0) + 0xfee0)));
const encoded = (text: string) => text.replace(/[\d.a-z]/gi, (one) => `%${one.charCodeAt(0).toString(16)}`);

const address = fc.constantFrom(
  [127, 0, 0, 1],
  [127, 1],
  [2130706433],
  [127, 65535],
  [10, 0, 0, 1],
  [169, 254, 169, 254],
  [0],
  [256, 1],
  [127, 0, 0, 0, 1],
);
const ipv4 = address.chain((parts) => fc.tuple(...parts.map(number))).map((parts) => parts.join('.'));
const ipv6 = fc.constantFrom(
  '[::1]',
  '[0:0::1]',
  '[::ffff:127.0.0.1]',
  '[::7f00:1]',
  '[FE80::1]',
  '[::1%25lo]',
  '[::1',
  '[1.2.3.4]',
  '[v1.a]',
);
const label = mostly(
  ['a', 'B', 'localhost', 'xn--bcher-kva', 'bücher', 'ｅ', '_x'],
  ...['-', 'a\u00adb', '1', '0x1', "'", '', '*', 'ß', 'a'.repeat(64)],
);
const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
const anyHost = fc
  .tuple(
    fc.oneof(ipv4, ipv4, ipv6, name),
    mostly(['', '.'], '..', '...', '。', '．.', '%2e', '.%2E'),
    mostly(['plain'], 'wide', 'encoded'),
  )
  .map(([text, end, form]) => {
    if (form === 'plain') return text + end;
    return (form === 'wide' ? wide(text) : encoded(text)) + end;
  });
const segment = fc.constantFrom(
  'a',
  '..',
  '.',
  '%2e',
  '%2E.',
  '%',
  '%2',
  '%2%65',
  '%%36%35',
  '%2f',
  '%5c',
  '',
  'é',
  '~',
  '%7e',
  ';x',
  '@',
  ':',
);
const anyPath = fc.array(segment, { maxLength: 5 }).map((parts) => parts.map((part) => `/${part}`).join(''));
const structured = fc
  .tuple(
    mostly(['http://', 'HTTP://', 'https://'], 'http:', 'http:/', 'http:///', 'http:\\\\', '//'),
    mostly([''], '@', 'user@', 'a:b@', '127.0.0.1@', '%40'),
    anyHost,
    mostly(['', `:${PORT}`, ':', ':080'], ':0', ':65536', ':8080@b', ':80:80', ':+80'),
    anyPath,
    fc.constantFrom('', '?', '?a=b', '?@c', '#', '#@c', '?é', '?\'"<'),
  )
  .map((parts) => parts.join(''));
/** With a character anywhere that some parsers remove and others take for a separator. */
const url = fc
  .tuple(structured, mostly([''], ...'\t\n\0 \\@#/.%\u200b：／'), fc.nat(60))
  .map(([text, extra, at]) => text.slice(0, at) + extra + text.slice(at));

/** The host to which a text leads that another parser takes for one; undefined if it is none. */
function hostFrom(text: string): string | undefined {
  if (text.includes('%') || !URL.canParse(`http://${text}/`)) return undefined;
  return new URL(`http://${text}/`).hostname.replace(/\.$/, '');
}

/** Sends a request to a host whose name leads to the loopback interface. Returns the names that were resolved. */
async function resolvedNames(transport: LiveTransport, checked: CheckedUrl): Promise<string[]> {
  const names: string[] = [];
  const restore = replaceResolver(async (asked) => {
    names.push(asked);
    return [{ address: '127.0.0.1', family: 4 }];
  });
  const origin = `${checked.scheme}//*${authorityOf(checked).slice(checked.host.length)}`;
  const rules = new NetworkRules(networkPolicy.parse({ allow: [`${origin}/*`] }));
  try {
    const request = { method: 'GET', url: checked, headers: [], body: undefined };
    await assert.rejects(
      transport.send(request, rules.find('GET', checked), AbortSignal.timeout(5000)),
      /not on the public internet/,
    );
  } finally {
    restore();
  }
  return names;
}

export const requestedUrls: FuzzTarget = {
  name: 'requested-urls',
  shortRuns: 3000,
  async open() {
    const installed = await startInstalledReaders();
    const transport = new LiveTransport();
    const outcomes = { refused: 0, addresses: 0, names: 0 };
    const readings = async (text: string): Promise<[string, ReadUrl | null][]> => {
      const found: [string, ReadUrl | null][] = Object.entries((await installed?.read(text)) ?? {});
      for (const [reader, read] of Object.entries(READERS)) found.push([reader, await read(text)]);
      return found;
    };
    const property = fc.asyncProperty(url, async (text) => {
      const checked = checkUrl(text);
      if (typeof checked === 'string') {
        outcomes.refused++;
        return;
      }
      const { host, port, path, query } = checked;
      const sent = hrefOf(checked);
      assert.deepEqual(checkUrl(sent), checked);
      assert.doesNotMatch(path, /(?:^|\/)\.\.?(?:\/|$)/);
      for (const [reader, read] of await readings(sent))
        assert.deepEqual(read, { host, port, target: path + query }, `${reader} reads ${sent}`);
      for (const [reader, read] of await readings(text)) {
        const found = read && hostFrom(read.host);
        if (found) assert.deepEqual([found, read.port], [host, port], `${reader} reads ${text}`);
      }
      const isAddress = addressBytes(host) !== undefined;
      outcomes[isAddress ? 'addresses' : 'names']++;
      if (port === '0' || isPublicAddress(host)) return;
      assert.deepEqual(await resolvedNames(transport, checked), isAddress ? [] : [host]);
    });
    return {
      property,
      checkCoverage: () => {
        for (const [outcome, count] of Object.entries(outcomes))
          assert.ok(count > 50, `${outcome}: ${count}`);
      },
      close: async () => {
        await transport.close();
        await installed?.close();
      },
    };
  },
};
