/** The tools of the GNU project, and others under the GPL: each source is configured and made as it is on Linux. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configure, make, writeCompiler } from './configure.mjs';

const SHIMS = fileURLToPath(new URL('shims/gnu/', import.meta.url));
const LINK = [
  '--stack-first',
  ...['-z', 'stack-size=1048576', '--table-base=1', '--export-table', '-s'],
  ...['__wasm_call_ctors', '__stack_pointer', 'malloc'].map((name) => `--export=${name}`),
];
const PLAIN = ['--disable-nls', '--disable-threads', 'FORCE_UNSAFE_CONFIGURE=1'];
const GNULIB = ['gl', 'gnu', 'lib'];
const GPL3 = 'GPL-3.0-or-later';
/** Commands of coreutils that need what the sandbox does not have: other users, other roots, SELinux, libraries that are preloaded. */
const WITHOUT = 'stdbuf,chroot,pinky,users,who,hostid,kill,uptime,chcon,runcon,coreutils';

/**
 * Each source: options of configure, the targets that make makes one after another, the files that become programs, and
 * whether they fork. @OBJ@ is the folder of all builds.
 */
const PROJECTS = {
  coreutils: {
    options: [
      ...['--without-selinux', '--disable-acl', '--disable-xattr', '--disable-libcap', '--without-libgmp'],
      ...[
        '--without-openssl',
        '--enable-single-binary=symlinks',
        '--enable-install-program=arch,hostname',
        `--enable-no-install-program=${WITHOUT}`,
      ],
    ],
    patches: ['patches/coreutils.patch'],
    targets: [['src/coreutils']],
    files: { coreutils: 'src/coreutils' },
  },
  sed: { options: ['--without-selinux', '--disable-acl'], targets: [['-k']], files: { sed: 'sed/sed' } },
  pcre2: { options: ['--disable-shared', '--disable-jit'], targets: [['libpcre2-8.la']], files: {} },
  grep: {
    needs: ['pcre2'],
    patches: ['patches/grep.patch'],
    options: [
      '--enable-perl-regexp',
      'PCRE_CFLAGS=-I@OBJ@/pcre2/src',
      'PCRE_LIBS=@OBJ@/pcre2/.libs/libpcre2-8.a',
    ],
    targets: [
      ['-C', 'lib'],
      ['-C', 'src'],
    ],
    files: { grep: 'src/grep' },
  },
  gawk: {
    options: ['--disable-mpfr', '--without-readline', '--disable-extensions', '--disable-pma'],
    targets: [['-C', 'support'], ['gawk']],
    files: { awk: 'gawk' },
    forks: true,
  },
  findutils: {
    options: ['--without-selinux'],
    patches: ['patches/findutils.patch'],
    targets: [
      ['-C', 'gl'],
      ['-C', 'lib'],
      ['-C', 'find'],
      ['-C', 'xargs'],
    ],
    files: { find: 'find/find', xargs: 'xargs/xargs' },
    forks: true,
  },
};

/** Objects of every program: the shims of the sandbox, without the entry for programs that start otherwise. */
async function runtimeOf(toolchain) {
  const compile = (names) =>
    toolchain.compile(
      'gnu-shims',
      names.map((name) => join(SHIMS, name)),
      ['-O2'],
    );
  const [own, [vfork]] = [await compile(['start.c', 'spawn.c', 'missing.c']), await compile(['vfork.c'])];
  const all = [...own, ...toolchain.runtimeObjects];
  return { all, forking: [vfork, ...all] };
}

/** Makes the headers before the objects: those that do not see them call functions of libc that gnulib replaces. */
function makeHeaders(folder) {
  writeFileSync(join(folder, 'headers.mk'), 'include Makefile\nsandbox-headers: $(BUILT_SOURCES)\n');
  make(folder, '-f', 'headers.mk', 'sandbox-headers');
}

/** gnulib knows how musl tells the name of a locale, and asks for Linux instead. */
function portLocaleName(source) {
  for (const folder of ['lib', 'gl/lib', 'gnulib-tests', 'gnu']) {
    const file = join(source, folder, 'getlocalename_l-unsafe.c');
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8').replaceAll(
      /defined __linux__(?= && (?:HAVE_LANGINFO_H|defined NL))/g,
      '(defined __linux__ || defined __EMSCRIPTEN__)',
    );
    writeFileSync(file, text);
  }
}

const built = new Map();

/** Builds a project once. Returns its folders. */
async function buildProject(toolchain, name) {
  const before = built.get(name);
  if (before !== undefined) return before;
  const { needs = [], options, patches = [], targets, forks = false } = PROJECTS[name];
  for (const other of needs) await buildProject(toolchain, other);
  const source = await toolchain.unpack(name, patches);
  portLocaleName(source);
  const { all, forking } = await runtimeOf(toolchain);
  const compiler = join(toolchain.work, forks ? 'gnu-fork-cc' : 'gnu-cc');
  writeCompiler(toolchain, compiler, forks ? forking : all, LINK);
  const located = (words) => words.map((word) => word.replace('@OBJ@', join(toolchain.work, 'obj')));
  const folder = configure(toolchain, name, source, { compiler, options: [...PLAIN, ...located(options)] });
  const flags = forks ? [`CFLAGS=-O2 -I${SHIMS} -include config.h -include sandbox-vfork.h`] : [];
  makeHeaders(folder);
  // gnulib's replacements of functions must see the system's headers first.
  for (const target of targets)
    make(folder, ...(GNULIB.includes(target[1]) ? [] : flags), ...located(target));
  const result = { source, folder };
  built.set(name, result);
  return result;
}

/** The programs that a project gives, as rows of build.mjs. */
function gnuProgram(name, project, { commands = [name], licence = GPL3 } = {}) {
  return {
    name,
    folder: 'packages/bash',
    build: async (toolchain, output) => {
      const { source, folder } = await buildProject(toolchain, project);
      copyFileSync(join(folder, PROJECTS[project].files[name]), output);
      const { needs = [] } = PROJECTS[project];
      const files = [
        join(source, 'COPYING'),
        ...needs.map((other) => join(built.get(other).source, 'LICENCE.md')),
      ];
      const licenceText = files.map((file) => readFileSync(file, 'utf8')).join('');
      const sources = [project, ...needs];
      const found = typeof commands === 'function' ? commands(folder) : commands;
      return { commands: found, licence, licenceText, sources };
    },
  };
}

/** The commands of coreutils, from the table that its build makes. The cat of toybox takes less memory: deep pipelines have many. */
const coreutilsCommands = (folder) =>
  [...readFileSync(join(folder, 'src/coreutils.h'), 'utf8').matchAll(/SINGLE_BINARY_PROGRAM\("(.*?)"/g)]
    .map(([, name]) => (name === 'ginstall' ? 'install' : name))
    .filter((name) => name !== 'cat')
    .sort();

export const GNU_PROGRAMS = [
  gnuProgram('coreutils', 'coreutils', { commands: coreutilsCommands }),
  gnuProgram('sed', 'sed'),
  gnuProgram('grep', 'grep', {
    licence: `${GPL3} AND BSD-3-Clause`,
    commands: ['grep', 'egrep', 'fgrep'],
  }),
  gnuProgram('awk', 'gawk', { commands: ['awk', 'gawk'] }),
  gnuProgram('find', 'findutils'),
  gnuProgram('xargs', 'findutils'),
];
