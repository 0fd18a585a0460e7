/**
 * Replays all attacks of the corpus, one category after another, as the command `redteam` does.
 *
 * @module-tag full
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { RUNTIME_NAMES } from '../../packages/core/src/schema.ts';
import { CATEGORIES, type Category } from '../../tools/redteam/src/attack.ts';
import { ATTACKS, runAttacks } from './built.ts';

const attacksOf = (category: Category) => ATTACKS.filter((attack) => attack.category === category);
const idsOf = (category: Category) => attacksOf(category).map(({ id }) => id);

/** Runs a category before its tests. Returns a function that checks the verdict on an attack. */
function replay(category: Category): (id: string) => void {
  const problems = new Map<string, readonly string[]>();
  beforeAll(async () => {
    const verdicts = await runAttacks(attacksOf(category));
    for (const verdict of verdicts) problems.set(verdict.attack.id, verdict.problems);
  }, 600_000);
  return (id) => expect(problems.get(id)).toEqual([]);
}

describe('corpus', () => {
  test('has attacks with unique ids in every category and language', () => {
    expect(new Set(ATTACKS.map(({ id }) => id)).size).toBe(ATTACKS.length);
    for (const category of CATEGORIES) {
      const runtimes = new Set(
        ATTACKS.filter((attack) => attack.category === category).map(({ runtime }) => runtime),
      );
      // Only Python programs use packages that users add. Shell programs have no host objects, tools or exceptions.
      const interpreted =
        category === 'packages' ? ['python' as const] : ['python' as const, 'javascript' as const];
      const languages = category === 'limits' ? RUNTIME_NAMES : interpreted;
      for (const runtime of languages) expect(runtimes).toContain(runtime);
    }
  });

  test('has the size that the README states', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    expect(readme).toContain(`None of the ${ATTACKS.length} attacks caused harm`);
  });

  test('names the vulnerability that an attack is known from', () => {
    const known = new Set(ATTACKS.flatMap(({ reference }) => (reference === undefined ? [] : [reference])));
    for (const reference of known) expect(reference).toMatch(/^((CVE|GHSA)-[\w-]+ \(.+\)|\w[\w-]+: .+)$/);
  });
});

describe('an escape attempt', () => {
  // guarantee: no-bridge, no-host-objects, no-host-resources, memory-isolation, system-calls, file-isolation, fresh-state
  test.each(idsOf('escape'))('has no effect outside the guest: %s', replay('escape'));
});

describe('a request of an attacker', () => {
  // guarantee: network
  test.each(idsOf('network'))('reaches no other host and reads no secret: %s', replay('network'));
});

describe('an attack on a limit', () => {
  // guarantee: fuel-limit, time-limit, memory-limit, output-limit, workspace-limit, recursion-limit
  test.each(idsOf('limits'))('is stopped by the limit: %s', replay('limits'));
});

describe('a hostile wheel', () => {
  // guarantee: native-libraries
  test.each(idsOf('packages'))('is refused: %s', replay('packages'));
});

describe('an attempt to falsify a result', () => {
  // guarantee: untrusted-reports
  test.each(idsOf('truth'))('does not change what the host reports: %s', replay('truth'));
});

describe('an attack on a session', () => {
  // guarantee: stored-sessions
  test.each(idsOf('session'))('leaves its state and other sessions intact: %s', replay('session'));
});

describe('an attack with tool calls', () => {
  // guarantee: tool-calls, approval, paused-programs
  // proves: Attacks that use tool calls cause no call without approval and no call with arguments that the schema rejects.
  test.each(idsOf('tools'))('calls no tool without approval or with invalid arguments: %s', replay('tools'));
});

describe('attack on the server', () => {
  test.each(idsOf('server'))('is rejected and delays no other client: %s', replay('server'));
});

describe('an attack on the machine of the user', () => {
  // guarantee: host-programs
  // proves: Files that a guest has written are not used by programs of the host, and private files and secrets do not reach it.
  test.each(idsOf('host'))('uses no file of a guest and reveals no file or secret: %s', replay('host'));
});

describe('an attack on host memory', () => {
  // guarantee: memory-limit
  test.each(idsOf('host_memory'))('cannot make the process grow without limit: %s', replay('host_memory'));
});
