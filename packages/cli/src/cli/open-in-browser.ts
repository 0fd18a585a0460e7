/**
 * Opens an address with a secret in the browser of the user. Other users of the machine can read the arguments of processes,
 * so the browser opens a file that only this user can read and that redirects to the address.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRIVATE_FILE, programEnvironment, startProgram } from '@llm-wasm-sandbox/core/internal';

const COMMANDS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/**
 * Returns whether a browser was started. None is started without a terminal or a display, where it would not be seen; the
 * address is also printed.
 */
export function openInBrowser(
  address: string,
  output: Pick<NodeJS.WriteStream, 'isTTY'> = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  const hasDisplay = process.platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  if (!hasDisplay || output.isTTY !== true) return false;
  const folder = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'playground.html');
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><a href="${address}">Playground</a>`;
  writeFileSync(file, page, { mode: PRIVATE_FILE });
  const [command, ...args] = COMMANDS[process.platform] ?? ['xdg-open'];
  try {
    const child = startProgram(command, [...args, file], {
      detached: true,
      stdio: 'ignore',
      env: programEnvironment(env),
      cwd: folder,
    });
    child.on('error', () => {});
    child.unref();
    return true;
  } catch {
    return false;
  }
}
