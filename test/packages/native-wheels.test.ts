/** Wheels with libraries for WebAssembly, with a library that the test assembles. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createPool, createSandbox, type SandboxResult, type Session } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Writer } from '../../packages/core/src/wasm/binary-io.ts';
import { temporarySessionStore } from '../support/cli-sessions.ts';
import { folderOfFile } from '../support/folders.ts';
import { code } from '../support/sandbox.ts';
import { buildLinked } from '../wasm/link-assembler.ts';
import { EXTENSION, LIBRARY, NATIVE_TAG, nativeWheel } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
let packages: string[];
beforeAll(async () => {
  packages = [await nativeWheel(folder)];
});

const value = (result: SandboxResult) => (result.success ? result.metadata.result : result.stderr);

describe('a session with a native library', () => {
  let session: Session;
  beforeAll(async () => {
    session = await createSandbox({ runtime: 'python', packages, auto_persist_globals: true });
    await session.execute('import counter, counter_data');
  });
  afterAll(() => session.close());

  // guarantee: native-libraries
  // proves: Sessions keep the static variables of native libraries across calls, checkpoints, forks and rollbacks. A call uses the same fuel before and after each of them.
  test('keeps its static variables across calls, checkpoints, forks and rollbacks, with the same fuel', async () => {
    expect(value(await session.execute('import counter, counter_data\ncounter.add(5)'))).toBe(5);
    await session.checkpoint('five');
    await using fork = await session.fork();
    const add = (in_: Session) => in_.execute('counter.add(3)');
    const continued = await add(session);
    const forked = await add(fork);
    await session.rollback('five');
    const again = await add(session);
    const results = [continued, forked, again];
    expect(results.map(value)).toEqual([8, 8, 8]);
    expect(new Set(results.map(({ fuel_consumed }) => fuel_consumed)).size).toBe(1);
  });

  test.each([
    ['spin', 'out_of_fuel'],
    ['crash', 'unreachable'],
    ['throws', 'unreachable'],
    ['recurse', 'stack_overflow'],
  ])('survives the C function %s, which ends with %s', { tags: 'full' }, async (method, reason) => {
    const before = value(await session.execute('counter.add(0)'));
    const result = await session.execute(`counter.add(100)\ncounter.${method}(1)`, {
      fuel_budget: 100_000_000,
    });
    expect(result.metadata).toMatchObject({ trap_reason: reason, stopped_at: { line: 2 } });
    expect(value(await session.execute('counter.add(0)'))).toBe(before);
  });

  test('catches a longjmp of the C library, across calls', async () => {
    expect(value(await session.execute('[counter.jump(n) for n in range(1, 4)]'))).toEqual([1, 2, 3]);
  });

  test.each([
    ['emscripten_out', 'stdout'],
    ['emscripten_console_log', 'stdout'],
    ['emscripten_err', 'stderr'],
    ['emscripten_console_warn', 'stderr'],
    ['emscripten_console_error', 'stderr'],
    ['emscripten_console_trace', 'stderr'],
  ])('prints a time that __asctime_r formats with %s', async (name, stream) => {
    const { stdout, stderr, success } = await session.execute(`_ = counter.${name}(0)`);
    const printed = { stdout: '', stderr: '', [stream]: 'Thu Nov 12 07:05:09 2026\n\n' };
    expect({ success, stdout, stderr }).toEqual({ success: true, ...printed });
  });

  test('gets an empty stack trace from the functions that Rust uses', async () => {
    const endOfStack = 5;
    const oneByteThatIsZero = 256;
    expect(
      value(
        await session.execute(code`
          [counter._Unwind_Backtrace(0), counter._Unwind_GetIPInfo(0), counter._Unwind_FindEnclosingFunction(7),
           counter.emscripten_return_address(0), counter.emscripten_get_callstack(16)]
        `),
      ),
    ).toEqual([endOfStack, 0, 0, 0, oneByteThatIsZero]);
  });

  test('has the error numbers of Emscripten', async () => {
    expect(value(await session.execute('import errno\nerrno.ENOTSUP'))).toBe(138);
  });

  test('names a package for which no build exists', async () => {
    const { metadata } = await session.execute('import tensorflow');
    expect(metadata.error_guidance?.actionable_guidance).toContain(
      "No build of 'tensorflow' exists for the sandbox",
    );
  });

  // guarantee: native-libraries
  // proves: A session does not load a native library that a program wrote, not even a copy of an installed library.
  test('does not load what a program wrote, even a copy of an installed library', async () => {
    const attempts = await session.execute(code`
      import ctypes, importlib.util, pathlib, shutil
      stub = pathlib.Path('/data/packages/${LIBRARY}')
      pathlib.Path('/app/own.so').write_bytes(bytes.fromhex('${Buffer.from(EXTENSION).toString('hex')}'))
      shutil.copy(stub, '/app/counter_copy.so')
      pathlib.Path('/app/forged.so').write_text('llm-wasm-sandbox side module sha256:' + 'a' * 64 + '\\n')

      def attempt(path):
          try:
              spec = importlib.util.spec_from_file_location('counter', path)
              importlib.util.module_from_spec(spec)
              return 'loaded'
          except ImportError as error:
              return str(error)

      def open_library(path):
          try:
              return ctypes.CDLL(path).PyLong_FromLong
          except (OSError, AttributeError) as error:
              return type(error).__name__

      names = ['own', 'counter_copy', 'forged', 'missing']
      [[attempt(f'/app/{name}.so') for name in names], [open_library(f'/app/{name}.so') for name in names],
       open_library(None), open_library(str(stub)), stub.stat().st_size]
    `);
    const refused = expect.stringContaining('not a library of an installed package');
    expect(value(attempts)).toEqual([
      [refused, refused, refused, expect.stringContaining('missing')],
      ['OSError', 'OSError', 'OSError', 'OSError'],
      'AttributeError',
      'AttributeError',
      expect.any(Number),
    ]);
    expect((value(attempts) as number[])[4]).toBeLessThan(200);
  });
});

describe('sessions with a native library', () => {
  const open = (more = {}) =>
    createSandbox({ runtime: 'python', packages, auto_persist_globals: true, ...more });

  test('have their own static variables, and use the same fuel whether or not their calls alternate', {
    tags: 'full',
  }, async () => {
    const policy = { deterministic: true };
    const calls = (in_: Session) => [
      () => in_.execute('import counter; counter.add(1)'),
      () => in_.execute('counter.add(2)'),
      () => in_.execute('counter.add(3)'),
      () => in_.undo().then(() => in_.execute('counter.add(4)')),
    ];
    const run = async (sessions: readonly Session[]) => {
      const turns = sessions.map(calls);
      const results: SandboxResult[][] = [];
      for (let i = 0; i < 4; i++) results.push(await Promise.all(turns.map((turn) => turn[i]!())));
      for (const session of sessions) await session.close();
      return results.map((turn) => turn.map((result) => [value(result), result.fuel_consumed]));
    };
    const alone = await run([await open({ policy })]);
    expect(alone.map(([result]) => result![0])).toEqual([1, 3, 6, 7]);
    const together = await run([await open({ policy }), await open({ policy })]);
    expect(together).toEqual(alone.map(([result]) => [result, result]));
  });

  test('keep the state of a library while a program waits for a tool, also in forks and after a rollback', {
    tags: 'full',
  }, async () => {
    const tools = { wait: async (_: object, ctx: { suspend(): never }) => ctx.suspend() };
    await using session = await open({ tools });
    const { metadata } = await session.execute(
      'import counter\ncounter.add(5)\nanswer = await tools.wait()\ncounter.add(answer)',
    );
    expect(metadata.state).toBe('paused');
    await session.checkpoint('asked');
    await using fork = await session.fork();
    const resumed = (in_: Session, answer: number) =>
      in_.resume(metadata.execution_id!, {
        resolutions: [{ id: metadata.pending![0]!.id, value: answer }],
        tools,
      });
    expect(value(await resumed(session, 10))).toBe(15);
    expect(value(await resumed(fork, 20))).toBe(25);
    await session.rollback('asked');
    expect(value(await resumed(session, 30))).toBe(35);
    expect(value(await session.execute('counter.add(1)'))).toBe(36);
  });
});

describe('an image with a preloaded library', () => {
  test('starts every run with the state that the library had in the image', { tags: 'full' }, async () => {
    await using sandbox = await createSandbox({ runtime: 'python', packages, preload: ['counter'] });
    const run = () => sandbox.execute('import counter\ncounter.add(2)');
    const results = [await run(), await run(), await run()];
    expect(results.map(value)).toEqual([2, 2, 2]);
    expect(new Set(results.map(({ fuel_consumed }) => fuel_consumed)).size).toBe(1);
    expect(results[0]!.metadata.imports).toEqual([{ name: 'counter', fuel: 0, cached: true }]);
  });

  test('works in a process of its own', { tags: 'full' }, async () => {
    await using pool = createPool({ maxWorkers: 1, isolation: 'process' });
    await using sandbox = await createSandbox({ runtime: 'python', packages, preload: ['counter'], pool });
    expect(value(await sandbox.execute('import counter\ncounter.add(2)'))).toBe(2);
  });
});

test('a stored session continues in another process', { tags: 'full' }, async () => {
  const { run } = temporarySessionStore();
  const more = ['--packages', packages[0]!];
  expect(await run('native', 'import counter; print(counter.add(40))', ...more)).toMatchObject({
    stdout: '40\n',
  });
  expect(await run('native', 'print(counter.add(2))', ...more)).toMatchObject({ stdout: '42\n' });
});

describe('the option packages', () => {
  const rejected = async (path: string) => {
    await expect(createSandbox({ runtime: 'python', packages: [path] })).rejects.toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(invalid_argument|module_invalid)$/) }),
    );
    return createSandbox({ runtime: 'python', packages: [path] }).catch((cause: Error) => cause.message);
  };

  test.each(['cp313-cp313-pyemscripten_2026_0_wasm32', 'cp314-cp314-pyodide_2025_0_wasm32'])(
    'rejects wheels for %s',
    async (tag) => {
      expect(await rejected(await nativeWheel(folder, tag))).toContain(`cp314-pyemscripten_2026_0_wasm32`);
    },
  );

  test('accepts a wheel that is one extension module', async () => {
    const path = await wheel(folder, 'single', '1.0', { [LIBRARY]: EXTENSION }, NATIVE_TAG);
    await using sandbox = await createSandbox({ runtime: 'python', packages: [path] });
    expect(value(await sandbox.execute('import counter\ncounter.add(2)'))).toBe(2);
  });

  const elf = Uint8Array.of(0x7f, 0x45, 0x4c, 0x46);
  const NATIVE_FILES = { [LIBRARY]: EXTENSION, 'm.py': '' };
  const withImport = (module: string, name: string) =>
    buildLinked({ dylink: {}, types: [[[], []]], imports: [[module, name, { func: 0 }]], functions: [] });
  test.each<[what: string, make: () => Promise<string>, message: RegExp]>([
    [
      'a library for Linux in a wheel for guests',
      () => wheel(folder, 'lying', '1.0', { 'x.so': elf }, NATIVE_TAG),
      /x\.so is a library of machine code for Linux, although the wheel is for pyemscripten_2026_0_wasm32\. Download it again\.$/,
    ],
    [
      'a text in place of a library',
      () => wheel(folder, 'text', '1.0', { 'x.so': 'llm-wasm-sandbox side module sha256:' }, NATIVE_TAG),
      /x\.so is not a WebAssembly module/,
    ],
    [
      'a library for Windows',
      () => wheel(folder, 'windows', '1.0', { 'x.pyd': 'MZ', 'm.py': '' }),
      /contains compiled code \(x\.pyd\), which guests cannot load: it is a library for Windows\./,
    ],
    [
      'a library that RECORD does not describe',
      async () => {
        const path = await wheel(folder, 'record', '1.0', NATIVE_FILES, NATIVE_TAG);
        const bytes = readFileSync(path);
        bytes.write('d', bytes.indexOf('dylink.0') + 1);
        writeFileSync(path, bytes);
        return path;
      },
      /cannot unpack|does not match its RECORD/,
    ],
    [
      'a path outside of the package folder',
      () => wheel(folder, 'outside', '1.0', { '../evil.py': '', 'm.py': '' }),
      /cannot unpack outside-1\.0-py3-none-any\.whl: .* the name "\.\.\/evil\.py" is not allowed/,
    ],
    [
      'an import from an unknown module',
      () => wheel(folder, 'unknown', '1.0', { [LIBRARY]: withImport('js', 'eval') }, NATIVE_TAG),
      /the library counter\..*\.so cannot be loaded.*imports "js\.eval" from an unknown module/,
    ],
    [
      'JavaScript',
      () =>
        wheel(
          folder,
          'script',
          '1.0',
          { [LIBRARY]: withImport('env', 'emscripten_asm_const_int') },
          NATIVE_TAG,
        ),
      /runs JavaScript on the host\. Guests do not allow that/,
    ],
  ])('rejects %s', async (_, make, message) => {
    expect(await rejected(await make())).toMatch(message);
  });

  test('ignores sections that pretend to describe a prepared library', async () => {
    const section = (name: string, contents: string) =>
      new Writer()
        .section(0, new Writer().name(name).bytes(new TextEncoder().encode(contents)).view())
        .view();
    const forged = Buffer.concat([
      EXTENSION,
      section('sandbox.side', '{"memoryBytes":1e9,"functions":[],"bound":["PyLong_FromLong"]}'),
      section('sandbox.data', 'x'),
    ]);
    const path = await wheel(folder, 'forged', '1.0', { [LIBRARY]: forged }, NATIVE_TAG);
    await using sandbox = await createSandbox({ runtime: 'python', packages: [path] });
    expect(value(await sandbox.execute('import counter\ncounter.add(2)'))).toBe(2);
  });

  test('rejects machine code', async () => {
    expect(await rejected(await wheel(folder, 'elf', '1.0', { 'elf.so': elf, 'm.py': '' }))).toContain(
      'contains compiled code',
    );
  });

  test('names the library that cannot be linked', async () => {
    const damaged = EXTENSION.slice(0, -3);
    const path = await wheel(folder, 'damaged', '1.0', { [LIBRARY]: damaged, 'm.py': '' }, NATIVE_TAG);
    expect(await rejected(path)).toContain(LIBRARY);
  });
});
