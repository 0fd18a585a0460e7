/** bash with job control. fork needs Asyncify; calls through pointers of another type need the emulation of such calls. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHIMS = fileURLToPath(new URL('shims', import.meta.url));
const OPTIONS =
  `--host=wasm32-unknown-emscripten --build=x86_64-pc-linux-gnu --without-bash-malloc --disable-nls
  --disable-readline --disable-history --disable-bang-history --enable-job-control --disable-progcomp
  --disable-net-redirections --without-curses bash_cv_func_sigsetjmp=present bash_cv_job_control_missing=present
  bash_cv_sys_named_pipes=present bash_cv_getcwd_malloc=yes bash_cv_wcwidth_broken=no bash_cv_signal_vintage=posix
  bash_cv_dev_fd=standard bash_cv_dev_stdin=present bash_cv_func_strchrnul_works=yes ac_cv_func_strtoimax=yes
  bash_cv_func_strtoimax=no ac_cv_func_getrandom=yes bash_cv_wexitstatus_offset=8`.split(/\s+/);
const LIBRARIES = ['builtins/libbuiltins.a', 'lib/glob/libglob.a', 'lib/tilde/libtilde.a', 'lib/sh/libsh.a'];
const FUNCTION_POINTERS = ['--fpcast-emu', '--pass-arg=max-func-params@16'];
const ENTRIES = [
  ...['bash_start', 'bash_setup', 'bash_eval', 'bash_output', 'bash_end'],
  ...['bash_interrupt', 'bash_state'],
];

/** A compiler command for configure and make: links test programs so that functions that libc lacks are noticed. */
function writeCompiler(toolchain, file, runtime) {
  const quote = (words) => words.map((word) => `'${word}'`).join(' ');
  writeFileSync(
    file,
    `#!/bin/sh
for word in "$@"; do
  case $word in -c|-E|-S|-M|--version|-v|-V|-dumpmachine) exec clang-22 ${quote(toolchain.flags)} "$@" ;; esac
done
for word in "$@"; do
  shift
  case $word in -rdynamic|-ldl|-lm|-lc|-static|-Wl,*) ;; *) set -- "$@" "$word" ;; esac
done
exec clang-22 ${quote(toolchain.flags)} -nostdlib -fuse-ld=$(command -v wasm-ld-22) "$@" ${quote([...runtime, ...toolchain.libraries])} \\
  -Wl,--no-entry,--gc-sections,--export-if-defined=main,--export-if-defined=__main_argc_argv,--export-if-defined=__main_void \\
  -Wl,--allow-multiple-definition,--allow-undefined-file=${join(toolchain.work, 'imports.txt')}
`,
  );
  chmodSync(file, 0o755);
}

/** The names that libc leaves to the kernel. */
function writeImports(toolchain) {
  const symbols = execFileSync(
    'llvm-nm-22',
    ['--undefined-only', '--just-symbol-name', ...toolchain.libraries],
    {
      maxBuffer: 2 ** 26,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const names = new Set(symbols.toString().split('\n'));
  const imports = [...names].filter((name) =>
    /^(__syscall_|__wasi_|_\w+_js$|emscripten_|_emscripten_|__call_sighandler|exit$)/.test(name),
  );
  writeFileSync(join(toolchain.work, 'imports.txt'), `${imports.sort().join('\n')}\n`);
}

const isWasm = (file) => readFileSync(file).subarray(0, 4).equals(Buffer.from('\0asm'));

export async function buildBash(toolchain, output) {
  const source = await toolchain.unpack('bash');
  const folder = join(toolchain.work, 'obj/bash');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const compiler = join(toolchain.work, 'bash-cc');
  writeImports(toolchain);
  writeCompiler(toolchain, compiler, toolchain.runtimeObjects);
  const tools = [
    `CC=${compiler}`,
    'AR=llvm-ar-22',
    'RANLIB=llvm-ranlib-22',
    'CC_FOR_BUILD=gcc',
    'CFLAGS=-Os',
  ];
  execFileSync(join(source, 'configure'), [...OPTIONS, ...tools], { cwd: folder, stdio: 'ignore' });
  // The last step, linking, is done below; make fails there.
  const make = ['-j2', '-k', ...LIBRARIES, 'bash'];
  try {
    execFileSync('make', make, { cwd: folder, stdio: 'ignore' });
  } catch {}
  const own = await toolchain.compile(
    'bash-session',
    ['bash-session.c', 'fork.c'].map((name) => join(SHIMS, name)),
    [
      ...[
        '-Os',
        '-DHAVE_CONFIG_H',
        '-DSHELL',
        `-I${folder}`,
        `-I${source}`,
        `-I${join(source, 'include')}`,
        `-I${join(source, 'lib')}`,
      ],
    ],
  );
  const objects = readdirSync(folder)
    .filter((name) => name.endsWith('.o'))
    .sort();
  const parts = [...objects, ...LIBRARIES]
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.a') || isWasm(file));
  toolchain.link(output, [...own, ...parts], {
    stack: 1_048_576,
    exports: ENTRIES,
    runtime: toolchain.runtimeObjects,
  });
  toolchain.optimize(output, FUNCTION_POINTERS);
  return {
    commands: ['bash', 'sh'],
    licence: 'GPL-3.0-or-later',
    licenceText: readFileSync(join(source, 'COPYING'), 'utf8'),
  };
}
