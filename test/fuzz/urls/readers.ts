/** How other programs read a URL: the parsers of this process, and the rules of curl and of Python's urllib written down. */
import { Client } from 'undici';

/** What a program connects to and asks for. Undefined: it rejects the URL. */
export type ReadUrl = { readonly host: string; readonly port: string; readonly target: string } | undefined;
export type Reader = (url: string) => ReadUrl | Promise<ReadUrl>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };

const fromNode: Reader = (text) => {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, search } = new URL(text);
  const scheme = protocol.slice(0, -1);
  return { host: hostname, port: port || DEFAULT_PORTS[scheme] || '', target: pathname + search };
};

/** What undici passes to the function that connects. */
const fromUndici: Reader = async (text) => {
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname, search } = new URL(text);
  let read: ReadUrl;
  let client: Client;
  try {
    client = new Client(origin, {
      connect: ({ hostname, port, protocol }, callback) => {
        const host = hostname.includes(':') ? `[${hostname}]` : hostname;
        const known = port || DEFAULT_PORTS[protocol.slice(0, -1)] || '';
        read = { host, port: known, target: pathname + search };
        callback(new Error('not connected'), null);
      },
    });
  } catch {
    return undefined;
  }
  await client.request({ path: '/', method: 'GET' }).catch(() => {});
  await client.destroy();
  return read;
};

/** curl: up to three slashes, the user name ends at the last @, the host is decoded, no control characters. */
const withCurlRules: Reader = (text) => {
  const [, scheme = '', rest = ''] = /^(https?):\/{1,3}([^/?#].*)$/is.exec(text) ?? [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: curl rejects them
  if (scheme === '' || /[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const [, authority = '', target = ''] = /^([^/?#]*)([^#]*)/.exec(rest) ?? [];
  const address = authority.slice(authority.lastIndexOf('@') + 1);
  const [, written = '', port = ''] = /^(\[[\da-f:.]+\]|[^:[\]]+)(?::(\d*))?$/i.exec(address) ?? [];
  const host = written.replace(/%([\da-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (
    host === '' ||
    Number(port) > 65_535 ||
    /[\s\\"'<>^`{|}/?#@:%]/.test(written.startsWith('[') ? '' : host)
  )
    return undefined;
  const isRooted = target.startsWith('/');
  return {
    host,
    port: port === '' ? DEFAULT_PORTS[scheme.toLowerCase()]! : String(Number(port)),
    target: isRooted ? target : `/${target}`,
  };
};

/** urllib: tabs and line ends are removed, the authority follows exactly two slashes, the user name ends at the last @. */
const withPythonRules: Reader = (text) => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python removes them
  const plain = text.replace(/^[\u0000-\u0020]+/, '').replace(/[\t\r\n]/g, '');
  const [, scheme = '', authority = '', target = ''] = /^(https?):\/\/([^/?#]*)([^#]*)/i.exec(plain) ?? [];
  const address = authority.slice(authority.lastIndexOf('@') + 1);
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(address) ?? [];
  if (host === '' || Number(port) > 65_535) return undefined;
  return {
    host: host.toLowerCase(),
    port: port === '' ? DEFAULT_PORTS[scheme.toLowerCase()]! : String(Number(port)),
    target: target.startsWith('/') ? target : `/${target}`,
  };
};

export const READERS: Readonly<Record<string, Reader>> = {
  node: fromNode,
  undici: fromUndici,
  'rules of curl': withCurlRules,
  'rules of urllib': withPythonRules,
};
