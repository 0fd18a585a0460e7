import { fileURLToPath } from 'node:url';

/** The red team of the built package. Guests run from the built files, so the runner must too. */
const built = (name: string) => new URL(`../../tools/redteam/dist/${name}.js`, import.meta.url).href;

const attacked = (name: string) =>
  import(new URL(`../../packages/server/dist/${name}.js`, import.meta.url).href);
const { serveHttp } = await attacked('serve');
const { redactSettings, resolveSettings } = await attacked('server/resolve-settings');
const runner = (await import(
  built('run-attacks')
)) as typeof import('../../tools/redteam/src/run-attacks.ts');

export const runAttacks = (attacks: Parameters<typeof runner.runAttacks>[0]) =>
  runner.runAttacks(attacks, {
    serveHttp,
    shownSettings: (settings) => redactSettings(resolveSettings(settings)),
    cli: fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url)),
  });
export const { Surroundings, SECRET } = (await import(
  built('surroundings')
)) as typeof import('../../tools/redteam/src/surroundings.ts');
export const { ATTACKS, attacksOf } = (await import(
  built('corpus/index')
)) as typeof import('../../tools/redteam/src/corpus/index.ts');
