/** SQLite for JavaScript guests: a library that the engine loads when a program imports node:sqlite. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceOf } from './sources.mjs';

const shim = (name) => fileURLToPath(new URL(`shims/${name}`, import.meta.url));
/**
 * The file system is that of the shims. Temporary data stays in memory, so that no open file is without a name. The other
 * options are those of Node.js.
 */
const OPTIONS =
  `OS_OTHER=1 THREADSAFE=0 TEMP_STORE=3 STMTJRNL_SPILL=-1 MAX_MMAP_SIZE=0 DEFAULT_MEMSTATUS=0 OMIT_LOAD_EXTENSION
  OMIT_DEPRECATED OMIT_SHARED_CACHE OMIT_WAL ENABLE_COLUMN_METADATA ENABLE_DBSTAT_VTAB ENABLE_FTS3 ENABLE_FTS3_PARENTHESIS
  ENABLE_FTS5 ENABLE_MATH_FUNCTIONS ENABLE_PERCENTILE ENABLE_RTREE ENABLE_GEOPOLY`.split(/\s+/);
const FLAGS = [
  '-Os',
  '-fPIC',
  '-fvisibility=hidden',
  '-Dlocaltime_r=sandbox_localtime_r',
  '-DHAVE_LOCALTIME_R=1',
];

export async function buildNodeSqlite(toolchain, output) {
  const folder = await toolchain.unpack('sqlite3');
  const engine = join(await toolchain.unpack('quickjs'), sourceOf('quickjs').inside);
  const here = { cwd: folder, stdio: 'ignore' };
  execFileSync('./configure', ['--disable-shared', '--disable-tcl', '--disable-readline'], here);
  execFileSync('make', ['sqlite3.c'], here);
  const flags = [...FLAGS, `-I${folder}`, `-I${engine}`, ...OPTIONS.map((option) => `-DSQLITE_${option}`)];
  const files = [join(folder, 'sqlite3.c'), shim('node-sqlite.c'), shim('node-sqlite-files.c')];
  const objects = await toolchain.compile('node-sqlite', files, flags);
  toolchain.linkLibrary(output, objects, ['sandbox_library']);
  const licenceText = readFileSync(join(folder, 'LICENSE.md'), 'utf8');
  return { commands: [], licence: 'blessing', licenceText, sources: ['sqlite3'] };
}
