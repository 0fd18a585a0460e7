/** git. Its children are started without fork, and connections are made in turns: see shims/git. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHIMS = fileURLToPath(new URL('shims/git', import.meta.url));
/** Where the sandbox has the folder with git's scripts, templates and settings. */
const FILES_AT = '/usr/lib/git-core';
const OPTIONS =
  `NO_RUST NO_OPENSSL NO_CURL NO_EXPAT NO_PERL NO_PYTHON NO_TCLTK NO_GETTEXT NO_ICONV NO_PTHREADS NO_UNIX_SOCKETS NO_IPV6
  NO_MMAP NO_REGEX NO_SETITIMER NO_POSIX_GOODIES NO_INSTALL_HARDLINKS HAVE_CLOCK_GETTIME HAVE_CLOCK_MONOTONIC HAVE_GETDELIM`
    .split(/\s+/)
    .map((name) => `${name}=1`);
const SETTINGS = [
  ...['uname_S=sandbox', 'uname_M=wasm32', 'CSPRNG_METHOD=getentropy', 'SHELL_PATH=/bin/sh', 'prefix=/usr'],
  ...[`gitexecdir=${FILES_AT}`, `template_dir=${FILES_AT}/templates`, `sysconfdir=${FILES_AT}`],
];
const COMMANDS = ['git', 'git-receive-pack', 'git-upload-archive', 'git-upload-pack'];
const SCRIPTS =
  `git-filter-branch git-merge-octopus git-merge-one-file git-merge-resolve git-quiltimport git-request-pull git-submodule
  git-sh-i18n git-sh-setup`.split(/\s+/);
const CONFIG = `[user]
	name = root
	email = root@sandbox
[init]
	defaultBranch = main
[core]
	pager = cat
[safe]
	directory = *
[gc]
	auto = 0
[maintenance]
	auto = false
[uploadpack]
	keepAlive = 0
`;
const ZLIB =
  `adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees uncompr zutil`.split(
    ' ',
  );

/** Those of git, of parts of it, and of zlib. */
const LICENCES = ['COPYING', 'LGPL-2.1', 'sha1dc/LICENSE.txt', 'reftable/LICENSE', '../zlib/LICENSE'];

/** Runs git's make with our compiler. */
function make(toolchain, folder, targets) {
  const quoted = ['clang-22', ...toolchain.flags].map((word) => `'${word}'`).join(' ');
  const zlib = join(toolchain.work, 'src/zlib');
  const tools = [`CC=${quoted}`, 'AR=llvm-ar-22', `CFLAGS=-Os -I${zlib}`];
  execFileSync('make', ['-j2', ...targets, ...tools, ...OPTIONS, ...SETTINGS], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** The folder with git's scripts, templates and settings. */
function writeFiles(source, to) {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(join(to, 'templates/hooks'), { recursive: true });
  mkdirSync(join(to, 'templates/info'));
  for (const name of SCRIPTS) cpSync(join(source, name), join(to, name));
  const templates = readdirSync(join(source, 'templates'), { recursive: true }).filter((name) =>
    /^(?:description|info.exclude|hooks.*\.sample)$/.test(name),
  );
  for (const name of templates) {
    const text = readFileSync(join(source, 'templates', name), 'utf8');
    const path = join(to, 'templates', name);
    writeFileSync(
      path,
      text.replaceAll('@SHELL_PATH@', '/bin/sh').replaceAll('@PERL_PATH@', '/usr/bin/perl'),
    );
    chmodSync(path, name.endsWith('.sample') ? 0o755 : 0o644);
  }
  writeFileSync(join(to, 'gitconfig'), CONFIG);
}

/** The objects of the program itself. */
const objectNames = (source) => [
  'git.o',
  'common-main.o',
  ...readdirSync(join(source, 'builtin'))
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => `builtin/${name.slice(0, -2)}.o`),
];

/** The objects of git and zlib, and the library of git. */
async function objectsOf(toolchain, source) {
  const zlib = await toolchain.unpack('zlib');
  for (const name of readdirSync(SHIMS)) cpSync(join(SHIMS, name), join(source, name));
  const parts = [...objectNames(source), 'libgit.a'];
  make(toolchain, source, [...parts, ...SCRIPTS]);
  const files = ZLIB.map((name) => `${name}.c`);
  return [
    ...parts.map((name) => join(source, name)),
    ...(await toolchain.compile('zlib', files, ['-Os', '-DHAVE_UNISTD_H'], zlib)),
  ];
}

export async function buildGit(toolchain, output) {
  const source = await toolchain.unpack('git', ['patches/git.patch']);
  const objects = await objectsOf(toolchain, source);
  toolchain.link(output, objects, { stack: 1_048_576 });
  const files = join(toolchain.work, 'git-core');
  writeFiles(source, files);
  return {
    commands: COMMANDS,
    licence: 'GPL-2.0-only AND LGPL-2.1-or-later AND MIT AND BSD-3-Clause AND Zlib',
    licenceText: LICENCES.map((name) => readFileSync(join(source, name), 'utf8')).join('\n'),
    sources: ['git', 'zlib'],
    // It would be 70 % larger. The processes that git waits for run inside its calls.
    canWait: false,
    files,
  };
}
