/** The shell of SQLite. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OPTIONS =
  `THREADSAFE=0 OMIT_LOAD_EXTENSION OMIT_DEPRECATED ENABLE_FTS5 ENABLE_MATH_FUNCTIONS ENABLE_DBSTAT_VTAB
  ENABLE_EXPLAIN_COMMENTS MAX_MMAP_SIZE=0 DQS=3 DEFAULT_MEMSTATUS=0`.split(/\s+/);

export async function buildSqlite(toolchain, output) {
  const folder = await toolchain.unpack('sqlite3');
  const here = { cwd: folder, stdio: 'ignore' };
  // Joins the sources into two files with the interpreter that the archive contains.
  execFileSync('./configure', ['--disable-shared', '--disable-tcl', '--disable-readline'], here);
  execFileSync('make', ['sqlite3.c', 'shell.c'], here);
  const flags = ['-Os', '-I.', '-DHAVE_READLINE=0', ...OPTIONS.map((option) => `-DSQLITE_${option}`)];
  const objects = await toolchain.compile('sqlite3', ['sqlite3.c', 'shell.c'], flags, folder);
  toolchain.link(output, objects, { stack: 1_048_576 });
  const licenceText = readFileSync(join(folder, 'LICENSE.md'), 'utf8');
  return { commands: ['sqlite3'], licence: 'blessing', licenceText };
}
