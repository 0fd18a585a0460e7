/** Runs attacks on the machine of the user. All planted files lie in one folder, in which one process calls pip. */
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installedFile } from '../host/install-folder.ts';
import { startProgram } from '../host/start-program.ts';
import { redactSettings, resolveSettings } from '../mcp/resolve-settings.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { Attack, HostAttack, MentionAttack, PlantedAttack, SettingsAttack } from './attack.ts';
import { SECRET } from './corpus/secret.ts';
import type { Surroundings } from './surroundings.ts';

const isPlanted = (attack: Attack<HostAttack>): attack is Attack<PlantedAttack> => 'plants' in attack;

/** The problems of each attack. */
export async function runHostAttacks(
  attacks: readonly Attack<HostAttack>[],
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
  return attacks.map((attack) => {
    if (isPlanted(attack))
      return existsSync(markerOf(attack)) ? [`a program of the host used ${attack.plants}`] : [];
    return 'mentions' in attack ? checkMention(attack) : checkSettings(attack as Attack<SettingsAttack>);
  });
}

/** Calls pip as `packages add` does, from a process whose current folder and environment point to the planted files. */
async function callPip(folder: string): Promise<void> {
  const url = pathToFileURL(installedFile('packages/run-pip.js'));
  const program = `const { pipDownload } = await import('${url}');\nawait pipDownload([], ['redteam-missing'], '.');`;
  const searched = ['', '.', 'bin', join('node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter);
  const child = startProgram(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    env: {
      ...(process.env as Record<string, string>),
      ...{ PATH: searched, PIP_NO_INDEX: '1', PIP_CONFIG_FILE: '' },
      ...{ PYTHONPATH: folder, PYTHONSTARTUP: join(folder, 'startup.py'), PYTHONUSERBASE: folder },
    },
    stdio: 'ignore',
  });
  await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
}

function checkMention({ mentions, file, runtime }: Attack<MentionAttack>): string[] {
  const { localImports, entryFiles } = LANGUAGES[runtime!];
  const path = file === 'config.json' && mentions.startsWith('{') ? 'data.json' : entryFiles[0]!;
  return localImports(mentions, path).includes(file) ? [`${file} would be copied into the guest`] : [];
}

function checkSettings({ settings }: SettingsAttack): string[] {
  const shown = JSON.stringify(redactSettings(resolveSettings({ ...settings })));
  return shown.includes(SECRET) ? ['the printed settings contain the secret'] : [];
}
