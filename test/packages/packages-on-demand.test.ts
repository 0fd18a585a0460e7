/**
 * Packages that programs get when they import them, with wheels that the test creates and approves.
 *
 * @module-tag full
 */
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore, type SandboxOptions } from 'llm-wasm-sandbox';
import { sandboxTools } from 'llm-wasm-sandbox/adapters';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCliHere } from '../support/cli.ts';
import { setEnvironment } from '../support/environment.ts';
import { folderOfFile } from '../support/folders.ts';
import { onlyPackagesFrom } from './available-wheels.ts';
import { nativeWheel } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
const index = join(folder, 'index');
setEnvironment(onlyPackagesFrom(index, folder));

const auto = { runtime: 'python', packages: 'auto' } as const;
const packages = (...args: readonly string[]) => runCliHere(['packages', ...args], join(folder, 'store'));
const USE_NATIVE = 'import counter\n[counter.add(1), counter.add(1)]';

beforeAll(async () => {
  mkdirSync(index);
  await nativeWheel(index);
  await wheel(index, 'helper_pkg', '1.2', { 'helper.py': 'one = 1\n' });
  await wheel(index, 'large', '1.0', { 'large.py': 'x = bytes(64 * 2**20)\n' });
  await wheel(index, 'unapproved', '1.0', { 'unapproved.py': 'x = 1\n' });
  await wheel(index, 'lazy', '1.0', {
    'lazy.py':
      'def load():\n    try:\n        import helper\n    except ImportError as error:\n        raise ImportError("Missing optional dependency") from error\n    return helper.one\n',
  });
  const { status, stderr } = await packages('lock', index);
  expect(stderr).toContain('approved helper-pkg 1.2');
  expect(status).toBe(0);
  // Replaces the approved wheel with one that has another digest.
  await wheel(index, 'unapproved', '1.0', { 'unapproved.py': 'x = 2\n' });
});

const removePackages = () => rmSync(join(folder, 'packages', 'packages.json'), { force: true });

/** Approves packages of which no wheel exists. */
function approve(names: readonly string[]): void {
  const path = join(folder, 'packages', 'lock.json');
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const wheels = lock.wheels.filter(({ name }: { name: string }) => !name.startsWith('many'));
  const added = names.map((name) => ({
    name,
    version: '1.0',
    file: `${name}-1.0-py3-none-any.whl`,
    sha256: '0'.repeat(64),
    import_names: [name],
    wheel_bytes: 2048,
  }));
  writeFileSync(path, JSON.stringify({ ...lock, wheels: [...wheels, ...added] }));
}

async function run(code: string, options: Partial<SandboxOptions> = {}) {
  await using sandbox = await createSandbox({ ...auto, ...options });
  return await sandbox.execute(code);
}

describe('packages on demand', () => {
  beforeEach(removePackages);

  test('are added when a program imports them, and only once', async () => {
    const first = await run('import helper\nhelper.one');
    expect(first.metadata.result).toBe(1);
    expect(first.metadata.packages_added).toMatchObject([{ name: 'helper-pkg', version: '1.2' }]);
    expect(first.metadata.packages_added![0]!.bytes).toBeGreaterThan(0);
    const second = await run('import helper\nhelper.one');
    expect(second.metadata.result).toBe(1);
    expect(second.metadata.packages_added).toBeUndefined();
  });

  test('are loaded in the image, so that the import costs almost no fuel', async () => {
    const plain = await run('1');
    const { metadata, fuel_consumed } = await run('import counter\n1');
    expect(metadata.imports).toMatchObject([{ name: 'counter', cached: true }]);
    expect(fuel_consumed - plain.fuel_consumed).toBeLessThan(500_000);
  });

  test('do not change a program without imports of packages', async () => {
    const { metadata, fuel_consumed } = await run('import json\njson.dumps(1)');
    const plain = await run('import json\njson.dumps(1)', { packages: [] });
    expect(metadata.packages_added).toBeUndefined();
    expect(fuel_consumed).toBe(plain.fuel_consumed);
  });

  test('are not searched for if guests have modules of their own', async () => {
    const { metadata } = await run('import micropip\nfrom IPython.display import display\ndisplay(1)');
    expect(metadata.packages_added).toBeUndefined();
  });

  test('that could not be added are counted in the answer to a model if there are many', async () => {
    await using sandbox = await createSandbox(auto);
    const ask = `from fcntl import ioctl
for i in range(100):
    names = '\\n'.join(['requirement', *(f'x{i}-{n}-'.ljust(130, 'y') for n in range(29))]).encode()
    ioctl(0, 0x4C570031, bytearray(len(names).to_bytes(4, 'little') + names.ljust(4096)), True)`;
    const tool = sandboxTools(sandbox).find(({ name }) => name === 'execute_code')!;
    const { text } = await tool.execute({ code: ask });
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/^note: [\d,]+ more packages could not be added$/m);
  });

  test('do not replace modules of the workspace', async () => {
    await using sandbox = await createSandbox(auto);
    const files = { 'helper.py': 'one = "mine"\n' };
    const { metadata } = await sandbox.execute('import helper\nhelper.one', { files });
    expect(metadata.result).toBe('mine');
    expect(metadata.packages_added).toBeUndefined();
  });

  test('with unknown digests are refused unless they are trusted', { tags: 'full' }, async () => {
    const refused = await run('import unapproved');
    expect(refused.success).toBe(false);
    expect(refused.metadata.packages_added![0]!.problem).toContain('unknown digest');
    expect(refused.metadata.error_guidance!.error_type).toBe('PackageNotAvailable');
    const trusted = await run('import unapproved\nunapproved.x', { trust_new_packages: true });
    expect(trusted.metadata.result).toBe(2);
  });

  test('are used once they are approved', { tags: 'full' }, async () => {
    const approved = join(folder, 'packages', 'lock.json');
    const before = readFileSync(approved);
    await using sandbox = await createSandbox(auto);
    expect((await sandbox.execute('import unapproved')).success).toBe(false);
    await packages('lock', 'unapproved');
    expect((await sandbox.execute('import unapproved\nunapproved.x')).metadata.result).toBe(2);
    expect((await packages('lock')).stdout).toMatch(/^unapproved +\S+ +[0-9a-f]{64}$/m);
    expect((await packages('lock', '--remove', 'unapproved')).stderr).toContain('withdrew the approval');
    expect((await packages('lock')).stdout).not.toContain('unapproved');
    expect((await packages('lock', '--remove', 'unapproved')).stderr).toContain('unapproved is not approved');
    writeFileSync(approved, before);
  });

  test('are refused if the list of approved wheels contains an option of pip', async () => {
    const approved = join(folder, 'packages', 'lock.json');
    const before = readFileSync(approved, 'utf8');
    for (const lie of [before.replace('"helper-pkg"', '"--help"'), before.replace('"1.2"', '"1.2 --pre"')]) {
      expect(lie).not.toBe(before);
      writeFileSync(approved, lie);
      await expect(run('import helper')).rejects.toThrow('lock.json is damaged');
    }
    writeFileSync(approved, before);
  });

  test('are searched for after a search without a network', { tags: 'full' }, async () => {
    await using sandbox = await createSandbox(auto);
    const { metadata } = await sandbox.execute('import lxml');
    expect(metadata.packages_added).toMatchObject([{ name: 'lxml', problem: expect.any(String) }]);
    const both = await sandbox.execute('import helper, counter');
    expect(both.metadata.packages_added!.map(({ name }) => name)).toHaveLength(2);
    expect(both.success).toBe(true);
  });

  test('are not replaced or hidden by what lies in the folder wheels', { tags: 'full' }, async () => {
    const cwd = join(folder, 'project');
    mkdirSync(join(cwd, 'wheels', 'helper_pkg-1.2-0-py3-none-any.whl'), { recursive: true });
    symlinkSync('missing', join(cwd, 'wheels', 'helper_pkg-1.2-1-py3-none-any.whl'));
    writeFileSync(join(cwd, 'wheels', 'helper_pkg-1.2-2-py3-none-any.whl'), 'not a wheel');
    // Its digest is approved, but for another package.
    copyFileSync(
      join(index, readdirSync(index).find((name) => !/^(helper|large|unapproved)/.test(name))!),
      join(cwd, 'wheels', 'helper_pkg-1.2-3-py3-none-any.whl'),
    );
    const { stdout } = await runCliHere(
      ['run', '-c', 'import helper; print(helper.one)'],
      join(folder, 'store'),
      cwd,
    );
    expect(stdout).toBe('1\n');
  });

  test('do not delay the answer to a cancelled call', { tags: 'full' }, async () => {
    const cancellation = new AbortController();
    const steps: string[] = [];
    const onPackageStep = (text: string) => {
      steps.push(text);
      cancellation.abort();
    };
    await using sandbox = await createSandbox({ ...auto, onPackageStep });
    const { metadata } = await sandbox.execute('import helper', { signal: cancellation.signal });
    expect(metadata.trap_reason).toBe('cancelled');
    expect(steps).toHaveLength(1);
    // Adding the package continues.
    expect((await sandbox.execute('import helper\nhelper.one')).metadata.result).toBe(1);
  });

  test('that are not searched for after a failed search are listed as well', async () => {
    const { metadata } = await run('import scipy\nimport sklearn');
    const [first, second] = metadata.packages_added!;
    expect(first).toMatchObject({ name: 'scipy', problem: expect.stringContaining('No wheel of scipy') });
    expect(second).toMatchObject({
      name: 'scikit-learn',
      problem: expect.stringContaining('not searched for'),
    });
  });

  test('cannot be added without a network, which one sentence says', { tags: 'full' }, async () => {
    vi.stubEnv('PIP_NO_INDEX', '');
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:1/simple');
    vi.stubEnv('LLM_WASM_SANDBOX_PYODIDE_URL', 'http://127.0.0.1:1/');
    const steps: string[] = [];
    const { metadata } = await run('import lxml, scipy', { onPackageStep: (text) => steps.push(text) });
    vi.unstubAllEnvs();
    expect(metadata.packages_added).toEqual([
      {
        name: 'lxml',
        problem:
          'lxml cannot be downloaded, because the package index of pip cannot be reached: check the network and the settings of pip, or pass the path of a wheel to "llm-wasm-sandbox packages add".',
      },
      { name: 'scipy', problem: expect.stringContaining('not searched for') },
    ]);
    // One search asks the index and the folders of wheels.
    expect(steps).toHaveLength(1);
  });

  test('are named as alternatives by a program that does not import them', async () => {
    const path = await wheel(folder, 'pandas', '0.1', { 'pandas.py': '' });
    expect((await packages('add', path)).status).toBe(0);
    const { metadata } = await run('import polars');
    expect(metadata.error_guidance!.actionable_guidance.join()).toContain('pandas (import pandas');
  });

  test('that are unknown are not searched for', async () => {
    const { metadata, stderr } = await run('import no_such_module');
    expect(stderr).toContain("No module named 'no_such_module'");
    expect(metadata.packages_added).toBeUndefined();
  });

  test('cannot be combined with other packages or with preload, and options for them need them', async () => {
    for (const options of [
      { packages: ['auto', 'numpy'] },
      { preload: ['openpyxl'] },
      { packages: [], trust_new_packages: true },
    ])
      await expect(createSandbox({ ...auto, ...options })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
  });

  test('are used by run by default', async () => {
    const file = join(folder, 'main.py');
    writeFileSync(file, 'import helper\nprint(helper.one)\n');
    const { stdout, stderr } = await runCliHere(['run', file], join(folder, 'store'));
    expect(stdout).toBe('1\n');
    expect(stderr).toMatch(/helper-pkg 1\.2 was added \(\d+ bytes, [\d.]+ s\)/);
  });
});

describe('packages that a program needs at run time', () => {
  beforeAll(removePackages);

  test('are added, and the program starts again', async () => {
    const { metadata, stderr } = await run('import lazy\nlazy.load()');
    expect(stderr).toBe('');
    expect(metadata.result).toBe(1);
    expect(metadata.packages_added).toMatchObject([{ name: 'lazy' }, { name: 'helper-pkg', version: '1.2' }]);
  });

  test.each([
    ['importlib', "import importlib\nimportlib.import_module('helper').one"],
    ['a function', 'def f():\n    return __import__("helper").one\nf()'],
    ['an optional dependency', 'import lazy\nlazy.load()'],
  ])('are available to %s', async (_, code) => {
    const { metadata, stderr } = await run(code);
    expect([metadata.result, stderr]).toEqual([1, '']);
  });

  test('are available to modules of the workspace', async () => {
    await using sandbox = await createSandbox(auto);
    const files = { 'own.py': 'import helper\nvalue = helper.one\n' };
    const { metadata } = await sandbox.execute('import own\nown.value', { files });
    expect(metadata.result).toBe(1);
  });

  test('do not charge the start that was given up, and discard its files and results', async () => {
    const program = "open('log', 'a').write('x')\ndisplay('shown')\nsum(range(1_000_000))\n";
    const plain = await run(program);
    const { metadata, results, files_created, fuel_consumed } = await run(
      `${program}__import__('helper')\nopen('log').read()`,
    );
    expect(metadata.result).toBe('x');
    expect(results.filter(({ is_main_result }) => !is_main_result)).toHaveLength(1);
    expect(files_created).toEqual(['log']);
    expect(fuel_consumed).toBeLessThan(1.5 * plain.fuel_consumed);
  });

  test('are not searched for again if the module is still missing', { tags: 'full' }, async () => {
    const steps: string[] = [];
    const { metadata, stderr } = await run("print('once')\n__import__('unapproved')", {
      onPackageStep: (text) => steps.push(text),
    });
    expect(stderr).toContain("ModuleNotFoundError: No module named 'unapproved'");
    expect(metadata.packages_added).toMatchObject([
      { name: 'unapproved', problem: expect.stringContaining('unknown digest') },
    ]);
    expect(steps.filter((text) => text.includes('searching'))).toHaveLength(1);
  });

  test('are not added if the program has called a tool, which says what to do', async () => {
    let calls = 0;
    const tools = { count: () => ++calls };
    await using sandbox = await createSandbox({ ...auto, tools });
    const { metadata, stderr } = await sandbox.execute(
      "import tools\nawait tools.count()\n__import__('helper')",
    );
    expect(calls).toBe(1);
    expect(stderr).toContain('ModuleNotFoundError');
    expect(metadata.packages_added).toMatchObject([
      { problem: expect.stringMatching(/has called tools; .* "llm-wasm-sandbox packages add helper-pkg"$/) },
    ]);
  });

  test('are not added if the program has read a part of its input', async () => {
    await using sandbox = await createSandbox(auto);
    const stdin = (async function* () {
      yield 'line\n';
    })();
    const { metadata } = await sandbox.execute("input()\n__import__('helper')", { stdin });
    expect(metadata.packages_added![0]!.problem).toContain('has read its input');
  });

  test('do not let output be delivered twice', async () => {
    await using sandbox = await createSandbox(auto);
    let delivered = '';
    const onStdout = (text: string) => {
      delivered += text;
    };
    const { stdout } = await sandbox.execute("print('ä')\n__import__('helper')\nprint('end')", { onStdout });
    expect([stdout, delivered]).toEqual(['ä\nend\n', 'ä\nend\n']);
  });

  test('let output that differs be delivered completely', async () => {
    await using sandbox = await createSandbox(auto);
    let delivered = '';
    const onOutput = (_: string, bytes: Uint8Array) => {
      delivered += Buffer.from(bytes).toString();
    };
    const program =
      "import os\nname = os.urandom(8).hex()\nprint('a', name)\n__import__('helper')\nprint('end')";
    const { stdout } = await sandbox.execute(program, { onOutput });
    expect(delivered).toMatch(/^a [0-9a-f]{16}\na [0-9a-f]{16}\nend\n$/);
    expect(delivered.endsWith(stdout)).toBe(true);
  });

  test('do not let a program start again and again', async () => {
    const names = Array.from({ length: 7 }, (_, i) => `many${i}`);
    approve(names);
    await using sandbox = await createSandbox({ ...auto, policy: { timeout_seconds: 600 } });
    const { metadata } = await sandbox.execute(
      `import os\nfor name in ${JSON.stringify(names)}:\n    os.system('pip install -q ' + name)`,
      { onPackages: () => false },
    );
    const problems = metadata.packages_added!.map(({ problem }) => problem!);
    expect(problems.filter((text) => text.includes('declined'))).toHaveLength(5);
    expect(problems.filter((text) => text.includes('already started again 5 times'))).toHaveLength(2);
  });

  test('do not let a program use its fuel several times', async () => {
    approve(['many0', 'many1']);
    await using sandbox = await createSandbox({
      ...auto,
      policy: { fuel_budget: 1_000_000_000, timeout_seconds: 600 },
    });
    const { metadata } = await sandbox.execute(
      'import os\nfor name in ["many0", "many1"]:\n    for _ in range(600_000): pass\n    os.system("pip install -q " + name)',
      { onPackages: () => false },
    );
    const problems = metadata.packages_added!.map(({ problem }) => problem!);
    expect(problems[0]).toContain('declined');
    expect(problems[1]).toMatch(/it and its earlier starts have used \d+ % of its limits/);
  });

  test('are not repeated when they have used half of their limits', async () => {
    approve(['many0']);
    await using sandbox = await createSandbox({
      ...auto,
      policy: { fuel_budget: 1_000_000_000, timeout_seconds: 600 },
    });
    const { metadata } = await sandbox.execute(
      'import os\nfor _ in range(1_100_000): pass\nos.system("pip install -q many0")',
      { onPackages: () => expect.fail('the program was started again') },
    );
    expect(metadata.packages_added).toMatchObject([
      { name: 'many0', problem: expect.stringContaining('of its limits') },
    ]);
  });

  test.each(['requirement', 'module'])('are not searched for many names of a %s', async (kind) => {
    approve(Array.from({ length: 300 }, (_, i) => `many${kind}${i}`));
    await using sandbox = await createSandbox(auto);
    await sandbox.execute('1');
    const lock = readFileSync(join(folder, 'packages', 'lock.json'), 'utf8');
    const parse = vi.spyOn(JSON, 'parse');
    try {
      const { stdout, metadata } = await sandbox.execute(`
from fcntl import ioctl
answers = set()
for start in range(0, 1000, 10):
    data = '\\n'.join(['${kind}', *(f'absent{i}' for i in range(start, start + 10))]).encode()
    answers.add(ioctl(0, 0x4C570031, bytearray(len(data).to_bytes(4, 'little') + data + bytes(4096)), True))
print(answers)
`);
      expect(stdout).toBe('{1023}\n');
      expect(parse.mock.calls.filter(([text]) => text === lock)).toHaveLength(1);
      const problems = metadata.packages_added!.map(({ problem }) => problem!);
      expect(problems).toHaveLength(kind === 'requirement' ? 31 : 1);
      expect(problems.at(-1)).toContain('30 packages or more that cannot be added');
    } finally {
      parse.mockRestore();
    }
  });

  test('stay within the limit of additions, of which a person can decline', async () => {
    const names = Array.from({ length: 21 }, (_, i) => `many${i}`);
    approve(names);
    await using sandbox = await createSandbox(auto);
    const offered: unknown[] = [];
    const onPackages = (packages: readonly object[]) => {
      offered.push(...packages);
      return false;
    };
    const { metadata } = await sandbox.execute(`import ${names.join(', ')}`, { onPackages });
    expect(offered).toHaveLength(20);
    expect(offered[0]).toEqual({ name: 'many0', version: '1.0', bytes: 2048 });
    const problems = metadata.packages_added!.map(({ problem }) => problem!);
    expect(problems).toHaveLength(21);
    expect(problems[0]).toContain('declined; to add it, run "llm-wasm-sandbox packages add many0"');
    expect(problems[20]).toContain('at most 20 new packages');
    const withReason = await sandbox.execute('import many0', {
      onPackages: () => ({ reason: 'it is late' }),
    });
    expect(withReason.metadata.packages_added).toEqual([
      { name: 'many0', problem: 'it is late; to add it, run "llm-wasm-sandbox packages add many0"' },
    ]);
  });

  test('keep the order of calls of a session, but nothing of what the first start did', {
    tags: 'full',
  }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    const calls = ['x = 0', "x += 1\n__import__('helper').one", 'x += 10', 'x'];
    const results = await Promise.all(calls.map((code) => session.execute(code)));
    expect(results.map(({ metadata }) => metadata.result)).toEqual([undefined, 1, undefined, 11]);
    expect(session.session.calls).toBe(4);
  });
});

describe('commands of pip', () => {
  test.each([
    ['a notebook command', '!pip install -q helper_pkg\nimport helper\nhelper.one'],
    ['a magic', "if True:\n    %pip install 'helper-pkg>=1,<2'\n__import__('helper').one"],
    ['a shell line', 'pip install helper-pkg  # first\nimport helper\nhelper.one'],
    [
      'a process',
      "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'helper-pkg'])\n__import__('helper').one",
    ],
    ['a shell', "import os\nos.system('pip install helper-pkg > /dev/null 2>&1')\n__import__('helper').one"],
    [
      'the module pip',
      "import pip\nassert pip.main(['install', 'helper-pkg']) == 0\n__import__('helper').one",
    ],
    [
      'the internal entry points of pip',
      "from pip._internal import main\nfrom pip._internal.cli.main import main as other\nmain(['install', '-q', 'helper-pkg']), other(['install', '-q', 'helper-pkg'])\n__import__('helper').one",
    ],
    [
      'a process of uv',
      "import subprocess\nsubprocess.run(['uv', 'pip', 'install', 'helper-pkg'], check=True)\n__import__('helper').one",
    ],
    ['a shell line of uv', 'uv pip install helper-pkg\nimport helper\nhelper.one'],
    ['micropip', "import micropip\nawait micropip.install(['helper-pkg'])\n__import__('helper').one"],
    [
      'a list of requirements',
      "open('r.txt', 'w').write('helper-pkg==1.2 # x\\n')\n!pip install -r r.txt\n__import__('helper').one",
    ],
  ])('make packages available: %s', async (_, code) => {
    const { metadata, stderr } = await run(code);
    expect([metadata.result, stderr]).toEqual([1, '']);
  });

  test('add packages', { tags: 'full' }, async () => {
    removePackages();
    const { metadata } = await run("!pip install helper-pkg\n__import__('helper').one");
    expect(metadata.result).toBe(1);
    expect(metadata.packages_added).toMatchObject([{ name: 'helper-pkg', version: '1.2' }]);
  });

  test.each(['!pip install openpyxl', '%pip install openpyxl', '!pip install', '%pip install'])(
    'of a notebook have no result: %s',
    async (code) => {
      const { stdout, stderr, metadata, success } = await run(code);
      expect([success, metadata.result]).toEqual([true, undefined]);
      expect(stdout + stderr).toBe(
        code.endsWith('openpyxl')
          ? 'Requirement already satisfied: openpyxl\n'
          : 'ERROR: You must give at least one requirement to install\n',
      );
    },
  );

  test('refuse a list of requirements that is too long to be read', async () => {
    const { stdout, stderr } = await run(
      "open('r.txt', 'w').write('#' * 20_000 + '\\nunheard-of\\n')\n!pip install -r r.txt",
    );
    expect(stdout).toBe('');
    expect(stderr).toBe('ERROR: a list of requirements has at most 20,000 characters: r.txt\n');
  });

  test('say that a package is there', async () => {
    const program =
      "!pip install helper-pkg openpyxl\nimport subprocess\nsubprocess.check_output('pip install openpyxl', shell=True, text=True)";
    const { stdout, metadata } = await run(program);
    expect(stdout).toBe(
      'Requirement already satisfied: helper-pkg\nRequirement already satisfied: openpyxl\n',
    );
    expect(metadata.result).toBe('Requirement already satisfied: openpyxl\n');
  });

  test.each([
    ['large==9', 'only the digest of version 1.0 is known'],
    ['helper-pkg==9', 'programs use version 1.2'],
    ['openpyxl<1', 'programs use version'],
    ['unheard-of', 'check the name, or approve its wheel with "llm-wasm-sandbox packages lock unheard-of"'],
  ])('are refused with a reason: %s', async (requirement, reason) => {
    const { metadata, stderr, success } = await run(`!pip install "${requirement}"`);
    expect(success).toBe(true);
    expect(stderr).toMatch(/^ERROR: cannot install .*llm-wasm-sandbox packages add /);
    expect(metadata.packages_added).toMatchObject([{ problem: expect.stringContaining(reason) }]);
  });

  test('give the command for the user if nothing is added on demand', async () => {
    const { stderr, metadata } = await run("!pip install 'pandas>=2' requests\nimport pandas", {
      packages: [],
    });
    expect(stderr).toContain('packages add "pandas>=2"\n');
    expect(metadata.error_guidance!.actionable_guidance.join()).toContain('packages add pandas');
    expect(metadata.packages_added).toBeUndefined();
  });

  test.each([
    'https://example.com/x-1.0-py3-none-any.whl',
    'git+https://example.com/x',
    './folder',
    '--index-url https://example.com x',
  ])('do not install %s', async (argument) => {
    const { stderr, metadata } = await run(`!pip install ${argument}`);
    expect(stderr).toMatch(/^ERROR: .*(not the name of a package|not supported)/);
    expect(metadata.packages_added).toBeUndefined();
  });

  test('in text and comments have no effect', async () => {
    const program =
      'text = """\n!pip install helper-pkg\n"""\n# pip install helper-pkg\nprint("pip install helper-pkg")';
    const { stdout, metadata } = await run(program);
    expect(stdout).toBe('pip install helper-pkg\n');
    expect(metadata.packages_added).toBeUndefined();
  });
});

describe('session with packages on demand', () => {
  beforeEach(removePackages);

  test('starts in the image of its first program and gets further packages later', {
    tags: 'full',
  }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    expect((await session.execute(USE_NATIVE)).metadata.result).toEqual([1, 2]);
    expect(session.session.preload).toContain('counter');
    const later = await session.execute('import helper\n[helper.one, counter.add(1)]');
    expect(later.metadata.result).toEqual([1, 3]);
    await session.undo();
    expect((await session.execute('counter.add(1)')).metadata.result).toBe(3);
    await using fork = await session.fork();
    expect((await fork.execute('import helper\n[helper.one, counter.add(1)]')).metadata.result).toEqual([
      1, 4,
    ]);
  });

  test('gets packages after calls without packages', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    await session.execute('x = 41');
    expect((await session.execute('import helper\nx + helper.one')).metadata.result).toBe(42);
    expect(session.session.preload).toEqual([expect.stringMatching(/^later:[0-9a-f]{64} helper-pkg 1\.2$/)]);
  });

  test('keeps its image when it is a fork with variables', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    await session.execute('x = 41');
    await using fork = await session.fork();
    expect((await fork.execute('import helper\nx + helper.one')).metadata.result).toBe(42);
    expect(fork.session.preload).toEqual([expect.stringMatching(/^later:/)]);
  });

  test('runs calls that were started at the same time in order', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    const calls = ['x = 40', 'import helper\nx += helper.one', 'x += 1', USE_NATIVE, 'x + helper.one'];
    const results = await Promise.all(calls.map((code) => session.execute(code)));
    expect(results.map(({ metadata }) => metadata.result).slice(3)).toEqual([[1, 2], 43]);
    const cancelled = session.execute('import helper', { signal: AbortSignal.abort() });
    expect((await cancelled).metadata.trap_reason).toBe('cancelled');
  });

  test('is opened again if its modules could not be loaded into the image', { tags: 'full' }, async () => {
    const store = diskStore(join(folder, 'sessions'));
    // Too little memory for what the module allocates.
    const options = { ...auto, session_id: 'small', store, policy: { memory_bytes: 48 * 2 ** 20 } };
    {
      await using session = await createSandbox(options);
      expect((await session.execute('import large')).stderr).toContain('MemoryError');
      await session.execute('x = 1');
      expect(session.session.preload).toEqual([expect.stringMatching(/^packages:/)]);
    }
    await using session = await createSandbox(options);
    expect((await session.execute('x')).metadata.result).toBe(1);
  });

  test('is opened again with its packages, on demand or not', { tags: 'full' }, async () => {
    const store = diskStore(join(folder, 'sessions'));
    const options = { ...auto, session_id: 'kept', store };
    {
      await using session = await createSandbox(options);
      await session.execute(USE_NATIVE);
      await session.execute('import helper');
    }
    await using session = await createSandbox(options);
    expect((await session.execute('[helper.one, counter.add(1)]')).metadata.result).toEqual([1, 3]);
  });

  test('names packages, not digests, if they are others or have been removed', { tags: 'full' }, async () => {
    const store = diskStore(join(folder, 'sessions'));
    const options = { ...auto, session_id: 'named', store };
    {
      await using session = await createSandbox(options);
      await session.execute('x = 1');
      await session.execute('import helper');
    }
    await expect(createSandbox({ ...options, packages: [] })).rejects.toThrow(
      'has the packages helper-pkg 1.2, but was opened with no packages.',
    );
    rmSync(join(folder, 'packages', 'packages.json'));
    await expect(createSandbox(options)).rejects.toThrow('have not been added: helper-pkg 1.2.');
  });
});
