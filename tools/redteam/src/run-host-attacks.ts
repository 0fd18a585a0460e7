/** Runs attacks on the machine of the user. All planted files lie in one folder, in which one process calls pip. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { LANGUAGES, startProgram } from '@llm-wasm-sandbox/core/internal';
import type {
  Attack,
  AttackedServer,
  HostAttack,
  InputAttack,
  MentionAttack,
  OutputAttack,
  PlantedAttack,
  SettingsAttack,
} from './attack.ts';
import { SECRET } from './corpus/secret.ts';
import type { Surroundings } from './surroundings.ts';

const isPlanted = (attack: Attack<HostAttack>): attack is Attack<PlantedAttack> => 'plants' in attack;
const isInput = (attack: Attack<HostAttack>): attack is Attack<InputAttack> => 'sends' in attack;
const isOutput = (attack: Attack<HostAttack>): attack is Attack<OutputAttack> => 'writes' in attack;

/** The problems of each attack. */
export async function runHostAttacks(
  attacks: readonly Attack<HostAttack>[],
  server: AttackedServer,
  surroundings: Surroundings,
): Promise<string[][]> {
  const folder = mkdtempSync(join(surroundings.folder, 'store-planted-'));
  const markerOf = ({ name }: HostAttack) => join(folder, `marker-${name}`);
  for (const attack of attacks.filter(isPlanted)) {
    const path = join(folder, attack.plants);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, attack.text.replaceAll('{{marker}}', markerOf(attack)), { mode: 0o755 });
  }
  if (attacks.some(isPlanted)) await callPip(folder);
  const written = await copiedFiles(attacks.filter(isOutput), server.cli, folder);
  const unanswered = await unansweredInputs(attacks.filter(isInput), server.cli, folder);
  return attacks.map((attack) => {
    if (isInput(attack)) return unanswered.has(attack.name) ? ['the server did not answer afterwards'] : [];
    if (isOutput(attack)) return written.has(attack.writes) ? [`run --out wrote ${attack.writes}`] : [];
    if (isPlanted(attack))
      return existsSync(markerOf(attack)) ? [`a program of the host used ${attack.plants}`] : [];
    return 'mentions' in attack
      ? checkMention(attack)
      : checkSettings(attack as Attack<SettingsAttack>, server);
  });
}

/** Calls pip as `packages add` does, from a process whose current folder and environment point to the planted files. */
async function callPip(folder: string): Promise<void> {
  const url = pathToFileURL(createRequire(import.meta.url).resolve('@llm-wasm-sandbox/core/internal'));
  const program = `const { pipDownload } = await import('${url}');\nawait pipDownload([], ['redteam-missing'], '.');`;
  const searched = ['', '.', 'bin', join('node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter);
  const child = startProgram(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    env: {
      ...environment(),
      ...{ PATH: searched, PIP_NO_INDEX: '1', PIP_CONFIG_FILE: '' },
      ...{ PYTHONPATH: folder, PYTHONSTARTUP: join(folder, 'startup.py'), PYTHONUSERBASE: folder },
    },
    stdio: 'ignore',
  });
  await ended(child);
}

const environment = () => process.env as Record<string, string>;

const ended = (child: ChildProcess) =>
  new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));

const message = (id: string, method: string, params?: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'redteam', version: '1' },
};

/** When a server that does not answer is given up. */
const INPUT_LIMIT_MS = 60_000;

/** The attacks after which a server on standard input does not answer. All of them are sent to one server. */
async function unansweredInputs(
  attacks: readonly Attack<InputAttack>[],
  cli: string,
  folder: string,
): Promise<ReadonlySet<string>> {
  if (attacks.length === 0) return new Set();
  const args = [cli, 'mcp', '--store', join(folder, 'stdin')];
  const child = startProgram(process.execPath, args, {
    env: environment(),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // A server that has ended does not read.
  child.stdin!.on('error', () => {});
  child.stdin!.write(message('start', 'initialize', INITIALIZE));
  for (const { name, sends } of attacks) {
    child.stdin!.write(Buffer.from(sends, 'latin1'));
    child.stdin!.write(message(name, 'ping'));
  }
  const unanswered = new Set(attacks.map(({ name }) => name));
  const limit = setTimeout(() => child.kill('SIGKILL'), INPUT_LIMIT_MS);
  for await (const line of createInterface(child.stdout!)) {
    unanswered.delete(String(answeredPing(line)));
    if (unanswered.size === 0) child.stdin!.end();
  }
  clearTimeout(limit);
  return unanswered;
}

/** The id of a request that a line answers with a result. A line that is not JSON is not an answer. */
function answeredPing(line: string): unknown {
  try {
    const { id, result } = JSON.parse(line) as { id?: unknown; result?: unknown };
    return result === undefined ? undefined : id;
  } catch {
    return undefined;
  }
}

/** The files that one run with `--out` has written. */
async function copiedFiles(
  attacks: readonly Attack<OutputAttack>[],
  cli: string,
  folder: string,
): Promise<ReadonlySet<string>> {
  if (attacks.length === 0) return new Set();
  const out = join(folder, 'out');
  const paths = attacks.map(({ writes }) => writes);
  const program = `import os
for path in [${[...paths, 'ordinary.txt'].map((path) => JSON.stringify(path)).join(', ')}]:
    os.makedirs(os.path.dirname('/app/' + path), exist_ok=True)
    open(path, 'w').write('#')`;
  const args = [cli, 'run', '-c', program, '--out', out];
  await ended(startProgram(process.execPath, args, { env: environment(), stdio: 'ignore' }));
  const written = readdirSync(out, { recursive: true, encoding: 'utf8' });
  if (!written.includes('ordinary.txt')) throw new Error('run --out did not copy an ordinary file');
  return new Set(written.map((path) => path.replaceAll(sep, '/')));
}

function checkMention({ mentions, file, runtime }: Attack<MentionAttack>): string[] {
  const { localImports, entryFiles } = LANGUAGES[runtime!];
  const path = file === 'config.json' && mentions.startsWith('{') ? 'data.json' : entryFiles[0]!;
  return localImports(mentions, path).includes(file) ? [`${file} would be copied into the guest`] : [];
}

function checkSettings({ settings }: SettingsAttack, { shownSettings }: AttackedServer): string[] {
  const shown = JSON.stringify(shownSettings({ ...settings }));
  return shown.includes(SECRET) ? ['the printed settings contain the secret'] : [];
}
