/**
 * Cost by size of the workspace: calls, writes, forks and saves with 0 to 10,000 files. The
 * build that `--baseline` names is measured in the same rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { baselineNote, loadBaseline } from './baseline.mjs';
import { markdown, median, ms, sampleInterleaved, times } from './measure.mjs';

const SIZES = [0, 100, 1000, 10_000];
const ROUNDS = 15;
const WARMUP = 4;

const OPERATIONS = {
  write: '`writeFile`',
  fresh: '`print(1)`, fresh interpreter',
  process: 'the same in a separate process',
  session: '`x += 1`, live session in memory',
  checkpoint: '`checkpoint`, session in memory',
  fork: '`fork`, session in memory',
  disk: '`x += 1`, live session on disk',
  save: 'saving a call that writes one file, on disk',
};

const pause = () => new Promise((next) => setTimeout(next, 5));

/** The operations of one checkout on workspaces with `count` files. */
async function alternativesOf({ createPool, createSandbox, diskStore, memoryStore }, count, folder) {
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`folder${i % 10}/file${i}`, 'x']),
  );
  const policy = { workspace_max_files: 20_000 };
  const open = async (options, code) => {
    const sandbox = await createSandbox({ runtime: 'python', policy, ...options });
    await sandbox.execute(code, { files });
    await sandbox.flush?.();
    return sandbox;
  };
  const fresh = await open({}, '0');
  const isolated = await open({ pool: createPool({ isolation: 'process', maxWorkers: 1 }) }, '0');
  const session = await open({ session_id: 'memory', store: memoryStore() }, 'x = 1');
  const disk = await open(
    { session_id: 'disk', store: diskStore(folder, { durability: 'relaxed' }) },
    'x = 1',
  );
  let writes = 0;
  const saved = (one) => () => one.flush().then(pause);
  const sandboxes = [fresh, isolated, session, disk];
  return {
    alternatives: {
      write: { run: () => fresh.writeFile(`new${writes++ % 10}`, 'x') },
      fresh: { before: pause, run: () => fresh.execute('print(1)') },
      process: { before: pause, run: () => isolated.execute('print(1)') },
      session: { before: saved(session), run: () => session.execute('x += 1') },
      checkpoint: { before: saved(session), run: () => session.checkpoint('one') },
      fork: {
        before: saved(session),
        run: async () => void sandboxes.push(await session.fork()),
      },
      disk: { before: saved(disk), run: () => disk.execute('x += 1') },
      save: {
        before: async () => {
          await disk.flush();
          await disk.execute('open("out", "w").write(str(x)); x += 1');
        },
        run: () => disk.flush(),
      },
    },
    close: () => Promise.all(sandboxes.map((sandbox) => sandbox.close())),
  };
}

async function measure(libraries, count) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-workspace-'));
  const opened = [];
  try {
    const all = {};
    for (const [name, library] of Object.entries(libraries)) {
      const one = await alternativesOf(library, count, join(folder, name));
      opened.push(one);
      for (const [operation, alternative] of Object.entries(one.alternatives))
        all[`${operation} ${name}`] = alternative;
    }
    const samples = await sampleInterleaved(all, { warmup: WARMUP, rounds: ROUNDS });
    return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)]));
  } finally {
    await Promise.all(opened.map(({ close }) => close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

const figure = (value) => (value < 0.1 ? value.toFixed(3) : ms(value));

export async function table() {
  const baseline = await loadBaseline();
  const libraries = {
    ...(baseline && { baseline: baseline.library }),
    'this build': await import('llm-wasm-sandbox'),
  };
  const names = Object.keys(libraries);
  const results = [];
  for (const count of SIZES) {
    process.stderr.write(`workspace: ${count} files …\n`);
    results.push(await measure(libraries, count));
  }
  const rows = Object.entries(OPERATIONS).flatMap(([operation, label]) =>
    names.map((name) => {
      const values = results.map((result) => result[`${operation} ${name}`]);
      const growth = times(values.at(-1) / values[0]);
      return [label, ...(baseline ? [name] : []), ...values.map(figure), growth];
    }),
  );
  const sizes = SIZES.map((count) => `${count.toLocaleString('en-US')} files`);
  return markdown(
    'Cost by size of the workspace',
    `Median milliseconds over ${ROUNDS} interleaved rounds. The sizes were measured one after another, so the load on the machine can differ between the columns. The files have one byte each and are in ten folders. Before every call of a session on disk, the store looks for edits by users: it watches the folders of a workspace with many files, and compares the attributes of the others.${baselineNote(baseline)}`,
    ['operation', ...(baseline ? ['build'] : []), ...sizes, 'largest / empty'],
    rows,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(await table());
  process.exit();
}
