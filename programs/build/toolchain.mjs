/** Compiles C for Emscripten's libc with clang and links it with wasm-ld. Emscripten's own JavaScript is not used. */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unpack } from './sources.mjs';

const run = promisify(execFile);
const LLVM = process.env.LLVM_22 ?? '/usr/lib/llvm-22';
const BUILTINS = join(LLVM, 'lib/clang/22/lib/wasi/libclang_rt.builtins-wasm32.a');
const SHIMS = fileURLToPath(new URL('shims', import.meta.url));
const SHIM_FILES = ['process.c', 'sleep.c', 'start.c', 'system.c', 'wait.c', 'zone-file.c'];
const ZONE_FILES = ['__tz', 'localtime_r', 'gmtime_r', 'mktime', 'timegm', '__secs_to_tm'];
const NEEDED = [
  'clang-22',
  'wasm-ld-22',
  'llvm-ar-22',
  'bison',
  'gcc',
  'make',
  'patch',
  'python3',
  'dpkg-deb',
];

/** Lets a program leave its stack in the calls of these functions: to wait, or to fork. */
const ASYNCIFY = ['--asyncify', '--pass-arg=asyncify-imports@env.__sb_suspend,env.__sb_fork', '-O1'];

/** Exports of every program. */
const EXPORTS = ['__wasm_call_ctors', '__stack_pointer', 'malloc'];

/** What this machine lacks for a build; empty if it has everything. */
export function missingTools() {
  const missing = NEEDED.filter((tool) => {
    try {
      execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
  return existsSync(BUILTINS) ? missing : [...missing, 'libclang-rt-22-dev-wasm32'];
}

export class Toolchain {
  #options;
  #binaryen;
  #sysroot;
  #flags;
  #runtime = [];

  constructor(options) {
    this.#options = options;
  }

  /** Builds libc, malloc and the shims. `options`: the folders `work` and `sources`. */
  static async create(options) {
    const toolchain = new Toolchain(options);
    await toolchain.#buildLibc();
    return toolchain;
  }

  get work() {
    return this.#options.work;
  }

  /** The licences of what every program contains: musl and Emscripten's part of libc. */
  licenceText() {
    const folder = join(this.work, 'src/emscripten/usr/share');
    const files = ['emscripten/system/lib/libc/musl/COPYRIGHT', 'doc/emscripten/copyright'];
    return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  }

  get flags() {
    return this.#flags;
  }

  /** The runtime for programs with an entry of their own: everything but start.c. */
  get runtimeObjects() {
    return this.#runtime.filter((object) => !object.endsWith('start.c.o'));
  }

  get libraries() {
    const folder = join(this.#sysroot, 'lib/wasm32-emscripten');
    return [...['libc.a', 'libdlmalloc.a', 'libstubs.a'].map((name) => join(folder, name)), BUILTINS];
  }

  /** The path of the linker. */
  get linker() {
    return execFileSync('sh', ['-c', 'command -v wasm-ld-22']).toString().trim();
  }

  unpack(name, patches = []) {
    return unpack(
      name,
      this.#options,
      patches.map((patch) => fileURLToPath(new URL(patch, import.meta.url))),
    );
  }

  async #buildLibc() {
    const { work } = this.#options;
    this.#binaryen = await this.unpack('binaryen');
    const emscripten = join(await this.unpack('emscripten'), 'usr/share/emscripten');
    const cache = join(work, 'emscripten-cache');
    const config = join(work, 'emscripten.py');
    mkdirSync(work, { recursive: true });
    writeFileSync(
      config,
      `LLVM_ROOT='${LLVM}/bin'\nBINARYEN_ROOT='${this.#binaryen}'\nNODE_JS='${process.execPath}'\nCACHE='${cache}'\n`,
    );
    const builder = join(emscripten, 'embuilder.py');
    execFileSync('python3', [builder, 'build', 'libc', 'libdlmalloc', 'libstubs'], {
      env: { ...process.env, EM_CONFIG: config },
      stdio: 'inherit',
    });
    this.#sysroot = join(cache, 'sysroot');
    this.#flags = [
      '--target=wasm32-unknown-emscripten',
      `--sysroot=${this.#sysroot}`,
      ...['-isystem', join(this.#sysroot, 'include/compat'), '-isystem', SHIMS],
      ...['-D_GNU_SOURCE', '-D__EMSCRIPTEN__', '-DNDEBUG', '-fno-strict-aliasing'],
      ...['-ffunction-sections', '-fdata-sections', `-ffile-prefix-map=${work}=.`, '-w'],
      // setjmp by exceptions in the form that every supported version of V8 has.
      ...['-mllvm', '-wasm-enable-sjlj', '-mllvm', '-wasm-use-legacy-eh=true'],
      ...['-Wno-error=implicit-function-declaration', '-Wno-int-conversion'],
    ];
    await this.#buildRuntime(join(emscripten, 'system/lib'));
  }

  /** What Emscripten adds at link time (setjmp, stack) and our shims. */
  async #buildRuntime(library) {
    const libc = join(library, 'libc/musl/src');
    const internal = ['-I', join(library, 'libc'), '-I', join(libc, 'internal'), '-I', join(libc, 'include')];
    const compiler = join(library, 'compiler-rt');
    const names = [
      'emscripten_setjmp.c',
      'emscripten_tempret.s',
      'stack_ops.S',
      'stack_limits.S',
      '__c_longjmp.S',
    ];
    const parts = [...names.map((name) => join(compiler, name)), join(libc, 'time/strptime.c')];
    this.#runtime = await this.compile('runtime', parts, ['-O2', '-D__WASM_SJLJ__', ...internal]);
    // musl's own time zones, in place of those of Emscripten, which asks JavaScript.
    const zones = ZONE_FILES.map((name) => join(libc, 'time', `${name}.c`));
    const own = [
      '-U_GNU_SOURCE',
      '-D_XOPEN_SOURCE=700',
      '-DEMSCRIPTEN_STANDALONE_WASM',
      '-Dgetenv=zone_variable',
    ];
    this.#runtime.push(...(await this.compile('zones', zones, ['-O2', ...own, ...internal])));
    const shims = SHIM_FILES.map((name) => join(SHIMS, name));
    this.#runtime.unshift(...(await this.compile('shims', shims, ['-O2'])));
  }

  /** Compiles files into objects named by program and file. Returns the paths in the given order. */
  async compile(program, files, flags, cwd = undefined) {
    const folder = join(this.work, 'obj', program);
    mkdirSync(folder, { recursive: true });
    const objects = files.map((file) =>
      join(folder, `${file.replace(/^\/.*\//, '').replaceAll('/', '_')}.o`),
    );
    const waiting = files.map((file, i) => [file, objects[i]]);
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [file, object] = next;
        await run('clang-22', [...this.#flags, ...flags, '-c', file, '-o', object], { cwd });
      }
    };
    await Promise.all(cpus().map(work));
    return objects;
  }

  /**
   * Links objects to a program without debug information. `stack`: bytes of the stack of C. `runtime`: objects
   * beside libc; they come first, because the first definition of a name counts. `growableTable`: whether the function table
   * can grow.
   */
  link(
    output,
    objects,
    { stack = 262_144, exports = [], runtime = this.#runtime, growableTable = false } = {},
  ) {
    const args = [
      ...[...runtime, ...objects, ...this.libraries],
      ...['--no-entry', '--allow-undefined', '--allow-multiple-definition', '--gc-sections', '--stack-first'],
      ...['-z', `stack-size=${stack}`, '--table-base=1', '--export-table', '-s'],
      ...(growableTable ? ['--growable-table'] : []),
      ...[...EXPORTS, ...exports].map((name) => `--export=${name}`),
    ];
    execFileSync('wasm-ld-22', ['-o', output, ...args], { stdio: 'inherit' });
  }

  /**
   * Links objects that were compiled with -fPIC to a library that a running program loads. It imports what it does not define,
   * so the program must export that.
   */
  linkLibrary(output, objects, exports) {
    const args = [...objects, '--shared', '--experimental-pic', '--no-entry', '--gc-sections', '-s'];
    const symbols = ['--unresolved-symbols=import-dynamic', ...exports.map((name) => `--export=${name}`)];
    execFileSync('wasm-ld-22', ['-o', output, ...args, ...symbols], { stdio: 'inherit' });
  }

  /** Makes a program able to wait while other processes run. This is the last step of its build. */
  makeSuspendable(file) {
    this.optimize(file, ASYNCIFY);
  }

  /** Rewrites a module with binaryen's wasm-opt. */
  optimize(file, passes) {
    const features = [
      'exception-handling',
      'bulk-memory',
      'sign-ext',
      'mutable-globals',
      'nontrapping-float-to-int',
      'reference-types',
      'multivalue',
    ];
    const wasmOpt = join(this.#binaryen, 'bin/wasm-opt');
    const args = [
      ...passes,
      ...features.map((name) => `--enable-${name}`),
      '--strip-debug',
      '--strip-producers',
    ];
    execFileSync(process.execPath, [wasmOpt, file, ...args, '-o', `${file}.opt`], { stdio: 'inherit' });
    copyFileSync(`${file}.opt`, file);
  }
}
