/**
 * Attacks on the machine of the user: files that a guest leaves in the current folder or in the folder of `--out`, programs that
 * name private files, settings whose secrets could be printed, and messages on standard input.
 */
import type {
  AttackTable,
  InputAttack,
  MentionAttack,
  OutputAttack,
  PlantedAttack,
  SettingsAttack,
} from '../attack.ts';
import { slug } from './rows.ts';
import { SECRET } from './secret.ts';

const PYTHON = "open('{{marker}}', 'w').close()\n";
const SHELL = "#!/bin/sh\n: > '{{marker}}'\nexit 1\n";
const NODE = "require('node:fs').writeFileSync('{{marker}}', '')\n";
const PIP_LOG = '[global]\nlog = {{marker}}\n';

const planted = (plants: string, text: string): PlantedAttack => ({
  name: `planted-${slug(plants)}`,
  plants,
  text,
});
const mentions = (name: string, code: string, file: string): MentionAttack => ({
  name: `copy-${name}`,
  mentions: code,
  file,
});
const writes = (path: string): OutputAttack => ({ name: `out-${slug(path)}`, writes: path });
const prints = (name: string, settings: object): SettingsAttack => ({ name: `print-${name}`, settings });
const line = (message: unknown) => `${JSON.stringify(message)}\n`;
const request = (id: unknown, method = 'ping', params: object = {}) =>
  line({ jsonrpc: '2.0', id, method, params });
const ENDLESS = { name: 'execute_code', arguments: { language: 'python', code: 'while True: pass' } };
const cancelled = (requestId: unknown) =>
  line({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const sends = (name: string, text: string): InputAttack => ({ name: `stdin-${name}`, sends: text });

/** Messages of a hostile client on standard input. */
const INPUTS: readonly InputAttack[] = [
  sends('blank-lines', '\n'.repeat(200_000)),
  sends('other-lines', 'x\n{\n[\n"\n\0\n'.repeat(20_000)),
  sends('deep-arrays', `${'['.repeat(1_000_000)}\n`),
  sends('deep-objects', `${'{"id":1,"a":'.repeat(100_000)}\n`),
  sends('many-members', request(1, 'ping', { a: Array(200_000).fill(0) })),
  sends('long-string', request(1, 'ping', { a: 'x'.repeat(9_000_000) })),
  sends('long-id', request('x'.repeat(1_000_000))),
  sends('invalid-utf8', '{"jsonrpc":"2.0","id":"\xff\xc0\x80\xed\xa0\x80","method":"ping"}\n\xff\xfe\n'),
  sends('lone-surrogate', '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n'),
  sends('prototype', '{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{"__proto__":{"a":1}}}\n'),
  sends('kinds-of-ids', [null, 1.5, -1, 1e300, {}, [], true, ''].map((id) => request(id)).join('')),
  sends('ids-used-again', request('same').repeat(500)),
  sends('initialize-again', request(1, 'initialize', {}).repeat(100)),
  sends('batches', `${'[]\n'.repeat(5000)}[${request(1).trim()},${request(1).trim()}]\n`),
  sends('answers-to-nothing', '{"jsonrpc":"2.0","id":1,"result":{}}\n'.repeat(2000)),
  sends('errors-to-nothing', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}\n'.repeat(2000)),
  sends('cancels-of-nothing', cancelled('none').repeat(2000)),
  sends(
    'cancels-of-calls',
    Array.from(
      { length: 30 },
      (_, i) => request(`c${i}`, 'tools/call', ENDLESS) + cancelled(`c${i}`).repeat(2),
    ).join(''),
  ),
];

export const HOST: AttackTable = {
  python: [
    mentions('string', "open('secrets.py')\nname = 'secrets'", 'secrets.py'),
    mentions('docstring', '"""\nimport secrets_of_user\n"""', 'secrets_of_user.py'),
    mentions('comment', '# from secrets_of_user import key', 'secrets_of_user.py'),
    mentions('parent', 'from .. import secrets_of_user', '../secrets_of_user.py'),
    mentions('not-a-module', 'import keys.pem', 'keys.pem'),
  ],
  javascript: [
    mentions('string', "const path = './keys.pem'; readFileSync('./config.json')", 'config.json'),
    mentions('key', "const path = './keys.pem'", 'keys.pem'),
    mentions('comment', "// import './config.json'\n/* require('./config.json') */", 'config.json'),
    mentions('code-in-string', `const code = "require('./config.json')"`, 'config.json'),
    mentions('code-in-template', "const code = `import './config.json'`", 'config.json'),
    mentions('method', "loader.require('./config.json')", 'config.json'),
    mentions('import-of-a-key', "import('./keys.pem'); require('./id_rsa')", 'keys.pem'),
    mentions('parent', "import '../config.json'", '../config.json'),
    mentions('json', '{"main": "./config.json"}', 'config.json'),
  ],
  any: [
    planted('pip.py', PYTHON),
    planted('pip/__init__.py', PYTHON),
    planted('pip/__main__.py', PYTHON),
    planted('sitecustomize.py', PYTHON),
    planted('usercustomize.py', PYTHON),
    planted('runpy.py', PYTHON),
    planted('startup.py', PYTHON),
    planted('pip.conf', PIP_LOG),
    planted('pip.ini', PIP_LOG),
    planted('setup.cfg', PIP_LOG),
    planted('python3', SHELL),
    planted('uvx', SHELL),
    planted('bin/python3', SHELL),
    planted('node_modules/.bin/python3', SHELL),
    planted('node_modules/.bin/uvx', SHELL),
    planted('index.js', NODE),
    planted('node_modules/zod/index.js', NODE),
    writes('.npmrc'),
    writes('.bashrc'),
    writes('.env'),
    writes('.git/hooks/post-checkout'),
    writes('.ssh/authorized_keys'),
    writes('.vscode/tasks.json'),
    writes('sub/.envrc'),
    writes('sub/.git/config'),
    { ...writes('\u200c.git/config'), name: 'out-invisible-character' },
    { ...writes('GIT~1/config'), name: 'out-short-name' },
    ...INPUTS,
    prints('token', { tokens: [`ann=${SECRET}`] }),
    prints('unnamed-token', { tokens: [SECRET] }),
    prints('token-with-equals-sign', { tokens: [`${SECRET}=0123456789abcdef`] }),
    prints('metrics-token', { metrics_token: SECRET }),
    prints('database', { store: `postgres://user:${SECRET}@host/db` }),
    prints('other-scheme', { store: `postgresql://user:${SECRET}@host/db` }),
    prints('password-parameter', { store: `host=db password=${SECRET}` }),
    prints('origin', { cors_origins: [`https://user:${SECRET}@app.example`] }),
    prints('index', { packages: [`https://user:${SECRET}@index.example/a.whl`] }),
  ],
};
