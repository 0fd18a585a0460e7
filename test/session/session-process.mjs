/**
 * A separate process that uses sessions of a disk store, started by tests that need a second process or kill it.
 * Arguments: the action, the folder of the store, and the input of the action as JSON. Reports each step as a line of JSON that
 * is written synchronously.
 */
import { writeSync } from 'node:fs';
import { createSandbox, diskStore } from 'llm-wasm-sandbox';

const [action, dir, input] = process.argv.slice(2);
const report = (fact) => writeSync(1, `${JSON.stringify(fact)}\n`);
const open = (runtime, session_id) => createSandbox({ runtime, session_id, store: diskStore(dir) });

/** Runs programs in a session, one after another. */
async function run({ runtime, session_id, programs }) {
  const sandbox = await open(runtime, session_id);
  for (const program of programs) {
    const { stdout, stderr } = await sandbox.execute(program);
    report({ stdout, stderr });
  }
  await sandbox.close();
}

/** A small seeded random number generator. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const PROGRAMS = {
  python: (k) => `
if 'xs' not in globals(): xs, own = [], {}
n = ${k}
xs.append(n)
with open('log', 'a') as log: log.write(f'{n}\\n')
own[n % 5] = n
open(f'own-{n % 5}', 'w').write(str(n))`,
  javascript: (k) => `
globalThis.xs ??= []; globalThis.own ??= {};
globalThis.n = ${k};
xs.push(n);
{ const log = std.open('log', 'a'); log.puts(n + '\\n'); log.close(); }
own[n % 5] = n;
{ const file = std.open('own-' + n % 5, 'w'); file.puts(String(n)); file.close(); }`,
};

/** Performs random calls, checkpoints and rollbacks until killed; reports each operation before it starts and when it is done. */
async function change({ id, runtime, firstOp, firstCall, seed }) {
  const sandbox = await open(runtime, id);
  const random = numbers(seed);
  const names = new Set((await sandbox.checkpoints()).map(({ name }) => name));
  let canUndo = false;
  for (let op = firstOp, k = firstCall; ; op++) {
    const dice = random();
    if (dice < 0.1 && names.size < 30) {
      const name = `at-${op}`;
      report({ sent: op, id, what: 'checkpoint', name });
      await sandbox.checkpoint(name);
      names.add(name);
    } else if (dice < 0.2 && names.size > 0) {
      const target = [...names][Math.floor(random() * names.size)];
      report({ sent: op, id, what: 'rollback', name: target });
      await sandbox.rollback(target);
    } else if (dice < 0.28 && canUndo) {
      report({ sent: op, id, what: 'undo' });
      await sandbox.rollback();
      canUndo = false;
    } else {
      report({ sent: op, id, what: 'call', k });
      const { metadata, stderr } = await sandbox.execute(PROGRAMS[runtime](k++));
      if (metadata.state !== 'committed') throw new Error(`${metadata.state}: ${stderr}`);
      canUndo = true;
    }
    report({ done: op, id });
    if (random() < 0.2) {
      await sandbox.flush();
      report({ flushed: op, id });
    }
  }
}

const actions = { run, change: (sessions) => Promise.all(sessions.map(change)) };
await actions[action](JSON.parse(input));
