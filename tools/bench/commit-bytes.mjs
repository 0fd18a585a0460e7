/**
 * Bytes that a call writes to its store when it changes one file, against the number of files in the workspace. The
 * build that `--baseline` names is measured as well.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { formatBytes } from '../../packages/core/dist/quantities.js';
import { baselineNote, loadBaseline } from './baseline.mjs';
import { markdown, median } from './measure.mjs';
import { startPostgres } from './stores.mjs';

const SIZES = [0, 100, 1000, 10_000];
const CALLS = 10;

/** Bytes that this process has passed to write system calls, including those of its threads. */
const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))[1]);

/** Median bytes per call, by `counter`, in a session with `count` files. */
async function measure({ createSandbox }, store, count, counter) {
  const files = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`folder${i % 10}/file${i}`, `${i}`]),
  );
  const session = await createSandbox({
    runtime: 'javascript',
    session_id: 'bench',
    store,
    commit: 'answer',
    policy: { workspace_max_files: 20_000 },
  });
  await session.execute('const fs = require("fs"); let n = 0', { files });
  const bytes = [];
  for (let i = 0; i < CALLS; i++) {
    await session.flush();
    const before = counter();
    await session.execute(`n += 1; fs.writeFileSync('folder${i}/changed', String(n))`, {
      files: { [`folder${i}/changed`]: '' },
    });
    await session.flush();
    bytes.push(counter() - before);
  }
  await session.close();
  return median(bytes);
}

async function rowsOf(build, library, folder, database) {
  const disk = [];
  const sent = [];
  for (const count of SIZES) {
    const store = library.diskStore(join(folder, `${build}-${count}`), { durability: 'relaxed' });
    disk.push(await measure(library, store, count, written));
    const pool = new pg.Pool({ connectionString: database.connectionString, max: 1 });
    const bytes = () =>
      pool._clients.reduce((sum, { connection }) => sum + connection.stream.bytesWritten, 0);
    const tables = library.postgresStore({ pool, tenant: `${build} ${count}` });
    sent.push(await measure(library, tables, count, bytes));
    await pool.end();
  }
  const row = (name, values) => [name, build, ...values.map((value) => formatBytes(Math.round(value)))];
  return [row('disk, bytes written', disk), row('PostgreSQL, bytes sent', sent)];
}

export async function table() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-commit-'));
  const database = await startPostgres(folder);
  try {
    const rows = [];
    const baseline = await loadBaseline();
    if (baseline !== undefined) rows.push(...(await rowsOf('baseline', baseline.library, folder, database)));
    rows.push(...(await rowsOf('this build', await import('llm-wasm-sandbox'), folder, database)));
    return markdown(
      'Bytes written by a call',
      `Median of ${CALLS} calls in a session, by the number of files in the workspace. Each call changes one variable and one file of a few bytes. The bytes include the changed memory of the interpreter and, on disk, the file in \`workspace/\`.${baselineNote(baseline)}`,
      [
        'store',
        ...(baseline ? ['build'] : []),
        ...SIZES.map((count) => `${count.toLocaleString('en')} files`),
      ],
      rows
        .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
        .map(([store, build, ...bytes]) => [store, ...(baseline ? [build] : []), ...bytes]),
    );
  } finally {
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
