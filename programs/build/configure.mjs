/** Builds what has a configure script: a compiler command that links against our libc, so that functions it lacks are noticed. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Answers to tests that configure cannot run. The libc of Emscripten is musl's. */
const SITE = fileURLToPath(new URL('config.site', import.meta.url));
const HOST = ['--host=wasm32-unknown-linux-musl', '--build=x86_64-pc-linux-gnu'];
const TOOLS = ['AR=llvm-ar-22', 'RANLIB=llvm-ranlib-22', 'CC_FOR_BUILD=gcc', 'BUILD_CC=gcc'];

const quote = (words) => words.map((word) => `'${word}'`).join(' ');

/** The names that libc leaves to the kernel. */
function writeImports(toolchain, file) {
  const symbols = execFileSync(
    'llvm-nm-22',
    ['--undefined-only', '--just-symbol-name', ...toolchain.libraries],
    { maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const names = new Set(symbols.toString().split('\n'));
  const imports = [...names].filter((name) =>
    /^(__syscall_|__wasi_|_\w+_js$|emscripten_|_emscripten_|__call_sighandler|exit$)/.test(name),
  );
  writeFileSync(file, `${imports.sort().join('\n')}\n`);
}

/** Writes a compiler command for configure and make. `runtime`: objects of every program; `link`: options of the linker. */
export function writeCompiler(toolchain, file, runtime, link) {
  const imports = `${file}-imports.txt`;
  writeImports(toolchain, imports);
  writeFileSync(
    file,
    `#!/bin/sh
for word in "$@"; do
  case $word in -c|-E|-S|-M|-MM|--version|-v|-V|-dumpmachine) exec clang-22 ${quote(toolchain.flags)} "$@" ;; esac
done
for word in "$@"; do
  shift
  case $word in -rdynamic|-ldl|-lm|-lc|-lpthread|-lrt|-static|-Wl,*) ;; *) set -- "$@" "$word" ;; esac
done
exec clang-22 ${quote(toolchain.flags)} -nostdlib -fuse-ld=${toolchain.linker} "$@" ${quote([...runtime, ...toolchain.libraries])} \\
  -Wl,--no-entry,--gc-sections,--allow-multiple-definition,--allow-undefined-file=${imports} \\
  ${quote(link.map((option) => `-Wl,${option}`))}
`,
  );
  chmodSync(file, 0o755);
}

/** Runs configure in a new folder, and returns the folder. A failure is noticed by the builds that follow. */
export function configure(toolchain, name, source, { compiler, options = [], flags = '-O2', env = {} }) {
  const folder = join(toolchain.work, 'obj', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const words = [...HOST, `CC=${compiler}`, ...TOOLS, `CFLAGS=${flags}`, ...options];
  quietly(join('../../src', name, 'configure'), words, folder, { CONFIG_SITE: SITE, ...env });
  return folder;
}

/** Runs a command whose failure is noticed by what it does not make. Its output is kept beside the folder. */
export function quietly(command, words, cwd, env = {}) {
  try {
    const options = {
      cwd,
      env: { ...process.env, ...env },
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'pipe'],
    };
    writeFileSync(`${cwd}.log`, execFileSync(command, words, options));
  } catch ({ stdout, stderr }) {
    writeFileSync(`${cwd}.log`, `${stdout}${stderr}`);
  }
}

export const make = (folder, ...words) => quietly('make', ['-j2', ...words], folder);
