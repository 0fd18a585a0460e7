/** toybox: one program with about 100 commands. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DATES = fileURLToPath(new URL('shims/date-words.c', import.meta.url));

/** The commands, by the names of toybox's configuration. */
const TOYS =
  `BASE64 BASENAME BC CAL CAT CHMOD CKSUM CLEAR CMP COMM COUNT CP MV INSTALL CPIO CRC32 CUT DATE DD DF DIFF
  DIRNAME DOS2UNIX UNIX2DOS DU ECHO ENV EXPAND EXPR FACTOR FALSE FILE FIND FMT FOLD FSYNC GETCONF GETOPT GREP EGREP FGREP GUNZIP
  GZIP ZCAT GROUPS HD HEAD HEXDUMP ICONV ID LINK LN LS MD5SUM SHA1SUM SHA224SUM SHA256SUM SHA384SUM SHA512SUM SHA3SUM MKDIR
  MKFIFO MKTEMP NICE NL NOHUP OD PASTE PATCH PRINTENV PRINTF PWD PWGEN READLINK REALPATH REV RM RMDIR SED SEQ SHRED SLEEP
  SORT SORT_FLOAT SPLIT STAT STRINGS SYNC TAC TAIL TAR TEE TEST TEST_GLUE TIME TIMEOUT TOUCH TR TRUE TRUNCATE TTY UNAME UNEXPAND
  UNIQ UNLINK USLEEP UUDECODE UUENCODE UUIDGEN WC WHICH WHOAMI XARGS XXD YES TOYBOX TOYBOX_HELP TOYBOX_HELP_DASHDASH
  TOYBOX_FLOAT TOYBOX_LIBZ`.split(/\s+/);
/** Entries of the table that are no commands of their own. */
const NOT_COMMANDS = new Set(['toybox']);

function configure(folder) {
  execFileSync('make', ['allnoconfig'], { cwd: folder, stdio: 'ignore' });
  const file = join(folder, '.config');
  const wanted = new Set(TOYS);
  const lines = readFileSync(file, 'utf8').split('\n');
  const config = lines.map((line) => {
    const name = /^# CONFIG_(\w+) is not set$/.exec(line)?.[1];
    return name !== undefined && wanted.has(name) ? `CONFIG_${name}=y` : line;
  });
  writeFileSync(file, config.join('\n'));
  // Generates the headers with the compiler of this machine, without building for it.
  execFileSync('make', ['toybox'], { cwd: folder, env: { ...process.env, NOBUILD: '1' }, stdio: 'ignore' });
}

/** The files of the chosen commands: those whose NEWTOY or OLDTOY is in the generated list. */
function sourceFiles(folder) {
  const enabled = readFileSync(join(folder, '.config'), 'utf8').matchAll(/^CONFIG_(\w+)=y$/gm);
  const names = new Set([...enabled].map(([, name]) => name));
  const toys = readdirSync(join(folder, 'toys'), { recursive: true })
    .filter((file) => file.endsWith('.c'))
    .map((file) => join('toys', file))
    .filter((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/^USE_(\w+)\((?:NEW|OLD)TOY/gm)].some(
        ([, name]) => names.has(name),
      ),
    );
  const libraries = readdirSync(join(folder, 'lib'))
    .filter((file) => file.endsWith('.c'))
    .map((file) => join('lib', file));
  return ['main.c', ...libraries, ...toys].sort();
}

/** The names of the commands in the generated table. */
function commands(folder) {
  const table = readFileSync(join(folder, 'generated/newtoys.h'), 'utf8');
  const config = readFileSync(join(folder, '.config'), 'utf8');
  const names = [...table.matchAll(/USE_(\w+)\((?:NEW|OLD)TOY\((\S+?),/g)]
    .filter(([, option]) => config.includes(`\nCONFIG_${option}=y\n`))
    .map(([, , name]) => name.replaceAll('"', ''));
  return [...new Set(names)].filter((name) => !NOT_COMMANDS.has(name)).sort();
}

const ZLIB =
  `adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees uncompr zutil`.split(
    ' ',
  );

export async function buildToybox(toolchain, output) {
  const folder = await toolchain.unpack('toybox', [
    'patches/toybox-sandbox.patch',
    'patches/toybox-sort.patch',
    'patches/toybox-tools.patch',
    'patches/toybox-archives.patch',
    'patches/toybox-dates.patch',
    'patches/toybox-text.patch',
    'patches/toybox-options.patch',
  ]);
  const zlib = await toolchain.unpack('zlib');
  configure(folder);
  const flags = ['-Os', '-I.', `-I${zlib}`, '-funsigned-char', '-include', 'toybox.h'];
  const objects = await toolchain.compile('toybox', sourceFiles(folder), flags, folder);
  const compression = await toolchain.compile(
    'zlib',
    ZLIB.map((name) => `${name}.c`),
    ['-O2', '-DZ_HAVE_UNISTD_H'],
    zlib,
  );
  const dates = await toolchain.compile('dates', [DATES], ['-Os']);
  toolchain.link(output, [...objects, ...dates, ...compression]);
  const licenceText = [join(folder, 'LICENSE'), join(zlib, 'README')]
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  return { commands: commands(folder), licence: '0BSD AND Zlib', licenceText, sources: ['toybox', 'zlib'] };
}
