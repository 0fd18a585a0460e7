/** Runs attacks with several clients, which start servers as they need them. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack, AttackedServer, ScenarioAttack } from './attack.ts';
import { SERVER_LIMITS, SERVER_TOKENS } from './run-server-attacks.ts';
import type { Surroundings } from './surroundings.ts';

export async function runScenario(
  { attack }: Attack<ScenarioAttack>,
  { serveHttp }: AttackedServer,
  surroundings: Surroundings,
): Promise<string[]> {
  const opened: { close(): Promise<void> }[] = [];
  const serve = async (settings: object = {}) => {
    const protocols = { e2b: true, jupyter: true };
    const server = await serveHttp({
      port: 0,
      tokens: SERVER_TOKENS,
      ...protocols,
      ...SERVER_LIMITS,
      ...settings,
    });
    opened.push(server);
    return new URL(server.url).origin;
  };
  const folder = mkdtempSync(join(surroundings.folder, 'store-scenario-'));
  try {
    return [...(await attack({ folder, serve })), ...surroundings.checkHost()];
  } finally {
    for (const server of opened) await server.close();
  }
}
