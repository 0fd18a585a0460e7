/** The shell programs of the corpus, the files that they use, and their recorded results in real bash with GNU tools. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ShellResult {
  readonly stdout: string;
  readonly exit_code: number;
}

const LEVELS = ['INFO', 'WARN', 'INFO', 'ERROR', 'INFO'];

export const FILES: Readonly<Record<string, string>> = {
  'app.log': Array.from({ length: 40 }, (_, i) => {
    const time = `${String(8 + (i % 5)).padStart(2, '0')}:${String((i * 7) % 60).padStart(2, '0')}:00`;
    return `2026-01-01 ${time} ${LEVELS[(i * 3) % 5]} request ${i} took ${(i * 37) % 101} ms\n`;
  }).join(''),
  'data.csv': `id,name,value,grp\n1,alpha,10.50,a\n2,beta,99.25,b\n3,gamma,50.00,a\n4,delta,72.10,c\n5,epsilon,3.99,b\n`,
  'notes.txt': 'The quick brown fox\njumps over the lazy dog\nThe fox is quick\n',
  'config.json':
    '{"name": "demo", "servers": [{"host": "a.example", "port": 80, "enabled": true}, {"host": "b.example", "port": 81, "enabled": false}], "tags": ["x", "y"]}\n',
};

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Programs by name. */
export function programs(): Map<string, string> {
  const parts = read('programs.txt')
    .split(/^### (.+)\n/m)
    .slice(1);
  return new Map(parts.flatMap((name, i) => (i % 2 === 0 ? [[name, parts[i + 1]!] as const] : [])));
}

export const recorded = (): Record<string, ShellResult> => JSON.parse(read('recorded.json'));

/** The tools with which results were recorded; undefined if this machine lacks one of them. */
export function hasRealTools(): boolean {
  const missing =
    'for c in bash jq sqlite3 zip unzip bc xxd python3 column envsubst; do command -v $c || exit 1; done';
  try {
    const version = execFileSync('bash', [
      '-c',
      `${missing} > /dev/null; echo $BASH_VERSION; sort --version`,
    ]);
    return /^5\.[\s\S]*GNU/.test(version.toString());
  } catch {
    return false;
  }
}

/** Runs a program in the bash of this machine, in a folder with the files. */
export function runNatively(program: string): ShellResult {
  const cwd = mkdtempSync(join(tmpdir(), 'shell-'));
  try {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text);
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: cwd, LANG: 'C.UTF-8', TZ: 'UTC' };
    const { stdout, status } = spawnSync('bash', ['-c', program], { cwd, env, timeout: 30_000 });
    return { stdout: stdout.toString(), exit_code: status ?? -1 };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
