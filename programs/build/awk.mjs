/** The one true awk. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILES = ['awkgram.tab.c', 'b.c', 'main.c', 'parse.c', 'proctab.c', 'tran.c', 'lib.c', 'run.c', 'lex.c'];

export async function buildAwk(toolchain, output) {
  const folder = await toolchain.unpack('awk');
  const here = { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] };
  execFileSync('bison', ['-y', '-d', '-l', '-o', 'awkgram.tab.c', 'awkgram.y'], here);
  execFileSync('gcc', ['-w', '-o', 'maketab', 'maketab.c'], here);
  writeFileSync(join(folder, 'proctab.c'), execFileSync('./maketab', ['awkgram.tab.h'], here));
  toolchain.link(output, await toolchain.compile('awk', FILES, ['-O2'], folder), { stack: 1_048_576 });
  return { commands: ['awk'], licence: 'SMLNJ', licenceText: readFileSync(join(folder, 'LICENSE'), 'utf8') };
}
