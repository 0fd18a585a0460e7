/** The red team of the built package. Guests run from the built files, so the runner must too. */
const built = (name: string) => new URL(`../../dist/redteam/${name}.js`, import.meta.url).href;

const attacked = (name: string) => import(new URL(`../../dist/${name}.js`, import.meta.url).href);
const { serveHttp } = await attacked('serve');
const { redactSettings, resolveSettings } = await attacked('server/resolve-settings');
const runner = (await import(built('run-attacks'))) as typeof import('../../src/redteam/run-attacks.ts');

export const runAttacks = (attacks: Parameters<typeof runner.runAttacks>[0]) =>
  runner.runAttacks(attacks, {
    serveHttp,
    shownSettings: (settings) => redactSettings(resolveSettings(settings)),
  });
export const { Surroundings, SECRET } = (await import(
  built('surroundings')
)) as typeof import('../../src/redteam/surroundings.ts');
export const { ATTACKS, attacksOf } = (await import(
  built('corpus/index')
)) as typeof import('../../src/redteam/corpus/index.ts');
