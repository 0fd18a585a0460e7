/**
 * Attacks on the machine of the user: files that a guest leaves in the current folder or in the folder of `--out`, programs that
 * name private files, and settings whose secrets could be printed.
 */
import type { AttackTable, MentionAttack, OutputAttack, PlantedAttack, SettingsAttack } from '../attack.ts';
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
    prints('token', { tokens: [`ann=${SECRET}`] }),
    prints('unnamed-token', { tokens: [SECRET] }),
    prints('token-with-equals-sign', { tokens: [`${SECRET}=0123456789abcdef`] }),
    prints('metrics-token', { metrics_token: SECRET }),
    prints('database', { store: `postgres://user:${SECRET}@host/db` }),
    prints('database-as-folder', { data_dir: `postgresql://user:${SECRET}@host/db` }),
    prints('password-parameter', { store: `host=db password=${SECRET}` }),
    prints('origin', { cors_origins: [`https://user:${SECRET}@app.example`] }),
    prints('index', { packages: [`https://user:${SECRET}@index.example/a.whl`] }),
  ],
};
