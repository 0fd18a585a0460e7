/** The command line of curl: a table of the options, and what they set. */

export class CurlError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const flag = (field, value = true) => ({ set: (options) => Object.assign(options, { [field]: value }) });
const text = (field) => ({
  hasValue: true,
  set: (options, value) => Object.assign(options, { [field]: value }),
});
const list = (field) => ({ hasValue: true, set: (options, value) => void options[field].push(value) });
const number = (field) => ({
  hasValue: true,
  set(options, value, name) {
    if (!/^\d+(\.\d+)?$/.test(value))
      throw new CurlError(2, `option ${name}: expected a proper numerical parameter`);
    options[field] = Number(value);
  },
});
const data = (kind) => ({ hasValue: true, set: (options, value) => void options.data.push({ kind, value }) });
const form = (isLiteral) => ({
  hasValue: true,
  set: (options, value) => void options.form.push({ value, isLiteral }),
});
const refused = (reason) => ({
  set() {
    throw new CurlError(2, reason);
  },
});
const ignored = { set() {} };
const ignoredValue = { hasValue: true, set() {} };
const NO_COOKIE_FILES =
  'files of cookies are not supported: read the header Set-Cookie with -i, and send cookies with -b name=value';
const NO_PROXY = refused('proxies are not supported: the host of the sandbox sends the requests');

/** By long name, then the short name if there is one. */
const TABLE = [
  ['silent', 's', flag('silent')],
  ['show-error', 'S', flag('showError')],
  ['fail', 'f', flag('fail')],
  ['fail-with-body', '', flag('failWithBody')],
  ['location', 'L', flag('follow')],
  ['location-trusted', '', { set: (options) => Object.assign(options, { follow: true, trusted: true }) }],
  ['max-redirs', '', number('maxRedirects')],
  ['output', 'o', { hasValue: true, set: (options, value) => void options.outputs.push({ file: value }) }],
  ['remote-name', 'O', { set: (options) => void options.outputs.push({ isRemoteName: true }) }],
  ['output-dir', '', text('outputFolder')],
  ['create-dirs', '', flag('createFolders')],
  ['request', 'X', text('method')],
  ['header', 'H', list('headers')],
  ['data', 'd', data('data')],
  ['data-ascii', '', data('data')],
  ['data-raw', '', data('raw')],
  ['data-binary', '', data('binary')],
  ['data-urlencode', '', data('urlencode')],
  ['json', '', data('json')],
  ['form', 'F', form(false)],
  ['form-string', '', form(true)],
  ['upload-file', 'T', text('upload')],
  ['user', 'u', text('user')],
  ['oauth2-bearer', '', text('bearer')],
  ['basic', '', ignored],
  ['head', 'I', flag('head')],
  ['include', 'i', flag('include')],
  ['dump-header', 'D', text('dumpHeader')],
  ['verbose', 'v', flag('verbose')],
  ['write-out', 'w', text('writeOut')],
  ['max-time', 'm', number('maxTime')],
  ['connect-timeout', '', number('connectTimeout')],
  ['retry', '', number('retry')],
  ['retry-delay', '', number('retryDelay')],
  ['retry-max-time', '', ignoredValue],
  ['retry-all-errors', '', ignored],
  ['retry-connrefused', '', ignored],
  ['get', 'G', flag('get')],
  ['user-agent', 'A', text('userAgent')],
  ['referer', 'e', text('referer')],
  [
    'cookie',
    'b',
    {
      hasValue: true,
      set(options, value) {
        if (!value.includes('=')) throw new CurlError(2, NO_COOKIE_FILES);
        options.cookies.push(value);
      },
    },
  ],
  ['cookie-jar', 'c', refused(NO_COOKIE_FILES)],
  ['range', 'r', text('range')],
  ['compressed', '', flag('compressed')],
  ['globoff', 'g', flag('globOff')],
  ['url', '', list('urls')],
  [
    'insecure',
    'k',
    refused('option -k: certificates are always verified by the host of the sandbox. Leave the option out'),
  ],
  ['proxy', 'x', NO_PROXY],
  ['socks5', '', NO_PROXY],
  ['no-progress-meter', '', ignored],
  ['progress-bar', '#', ignored],
  ['no-buffer', 'N', ignored],
  ['ipv4', '4', ignored],
  ['ipv6', '6', ignored],
  ['http1.0', '0', ignored],
  ['http1.1', '', ignored],
  ['http2', '', ignored],
  ['tlsv1.2', '', ignored],
  ['tlsv1.3', '', ignored],
  ['noproxy', '', ignoredValue],
  ['version', 'V', flag('version')],
  ['help', 'h', flag('help')],
];
const LONG = new Map(TABLE.map(([name, , option]) => [name, option]));
const SHORT = new Map(TABLE.filter(([, short]) => short !== '').map(([, short, option]) => [short, option]));

function longOption(name) {
  const exact = LONG.get(name);
  if (exact !== undefined) return exact;
  const candidates = [...LONG.keys()].filter((one) => one.startsWith(name));
  if (candidates.length === 1) return LONG.get(candidates[0]);
  throw new CurlError(2, `option --${name}: is ${candidates.length > 1 ? 'ambiguous' : 'unknown'}`);
}

const takeValue = (name, values) => {
  if (values.length === 0) throw new CurlError(2, `option ${name}: requires parameter`);
  return values.shift();
};

function readShort(word, rest, options) {
  for (let i = 1; i < word.length; i++) {
    const option = SHORT.get(word[i]);
    if (option === undefined) throw new CurlError(2, `option ${word}: is unknown`);
    if (!option.hasValue) option.set(options);
    else {
      const value = i + 1 < word.length ? word.slice(i + 1) : takeValue(word, rest);
      option.set(options, value, word);
      return;
    }
  }
}

export function readOptions(words) {
  const options = { outputs: [], headers: [], data: [], form: [], cookies: [], urls: [], maxRedirects: 50 };
  const rest = [...words];
  let isLiteral = false;
  while (rest.length > 0) {
    const word = rest.shift();
    if (isLiteral || !word.startsWith('-') || word === '-') options.urls.push(word);
    else if (word === '--') isLiteral = true;
    else if (word.startsWith('--no-') && !LONG.has(word.slice(2))) longOption(word.slice('--no-'.length));
    else if (word.startsWith('--')) {
      const option = longOption(word.slice(2));
      option.set(options, option.hasValue ? takeValue(word, rest) : undefined, word);
    } else readShort(word, rest, options);
  }
  return options;
}
