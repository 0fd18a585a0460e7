/** Checks in real guests that the features that guidance calls missing are missing, and that its suggestions exist. */
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import {
  MISSING_GLOBALS,
  NODE_FEATURES,
  ALTERNATIVES as NPM_ALTERNATIVES,
} from '../../packages/core/src/runtimes/javascript/guidance/advice.ts';
import {
  COMMANDS,
  MISSING_ATTRIBUTES,
  ALTERNATIVES as PYPI_ALTERNATIVES,
  UNSUPPORTED_MODULES,
} from '../../packages/core/src/runtimes/python/guidance/advice.ts';
import { CHART_CALLS } from '../analysis/chart-calls.ts';
import { sharedByFile } from '../support/shared.ts';

const python = await sharedByFile(createSandbox({ runtime: 'python' }));
const javascript = await sharedByFile(createSandbox({ runtime: 'javascript' }));

async function ask(sandbox: Sandbox, program: string): Promise<unknown> {
  const { metadata, stderr } = await sandbox.execute(program);
  expect(stderr).toBe('');
  return metadata.result;
}

const textsOf = (rows: object[]) =>
  rows
    .flatMap((row) => Object.values(row) as unknown[])
    .flat()
    .filter((text) => typeof text === 'string')
    .join('\n');

/** A call that needs the feature of a row in NODE_FEATURES. */
const FEATURE_CALLS: Readonly<Record<string, string>> = {
  child_process: "require('child_process').fork('x.js')",
  cluster: "require('cluster').fork()",
  crypto: "require('crypto').subtle.wrapKey('raw', 1, 2, { name: 'AES-KW' })",
  dgram: "require('dgram').createSocket('udp4')",
  dns: "require('dns').lookup('example.com', () => {})",
  http: "require('http').get('http://example.com')",
  http2: "require('http2').connect('http://example.com')",
  https: "require('https').get('https://example.com')",
  net: "require('net').connect(80)",
  sqlite: "new (require('node:sqlite').DatabaseSync)(':memory:')",
  tls: "require('tls').connect(80)",
  worker_threads: "new (require('worker_threads').Worker)('x')",
  zlib: "require('zlib').brotliCompressSync('x')",
};

describe('rows about features that JavaScript guests do not have', () => {
  test('name globals that the guest does not have', async () => {
    const names = JSON.stringify([...MISSING_GLOBALS.keys()]);
    expect(await ask(javascript, `${names}.filter((name) => name in globalThis)`)).toEqual([]);
  });

  test('name no module of Node.js, because all can be loaded', async () => {
    const modules =
      'assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib';
    const program = `'${modules}'.split(' ').filter((name) => { try { require(name); return false; } catch { return true; } })`;
    expect(await ask(javascript, program)).toEqual([]);
  });

  test('name packages that the guest does not have', async () => {
    const names = JSON.stringify([...NPM_ALTERNATIVES.keys()]);
    const program = `${names}.filter((name) => { try { require(name); return true; } catch { return false; } })`;
    expect(await ask(javascript, program)).toEqual([]);
  });

  test('have a feature that fails with the message that selects the row', async () => {
    expect(Object.keys(FEATURE_CALLS)).toEqual([...NODE_FEATURES.keys()].sort());
    const calls = Object.entries(FEATURE_CALLS).map(([name, call]) => `['${name}', () => ${call}]`);
    const program = `await Promise.all([${calls.join(', ')}].map(async ([name, call]) => { try { await call(); return name; } catch (e) { return e.message; } }))`;
    const messages = (await ask(javascript, program)) as string[];
    for (const [i, name] of Object.keys(FEATURE_CALLS).entries())
      expect(messages[i]).toMatch(
        new RegExp(
          `^(?:${name}\\.[\\w.]+ is not available in the sandbox|Cannot find module '${name}'|No such built-in module: node:${name}$)`,
        ),
      );
  });

  test('suggest functions that exist', async () => {
    const texts = textsOf([
      ...MISSING_GLOBALS.values(),
      ...NODE_FEATURES.values(),
      ...NPM_ALTERNATIVES.values(),
    ]);
    const called = [...new Set(texts.match(/\b(?:std|os|crypto)\.[a-z][A-Za-z.]*[A-Za-z]/g))];
    const words = [
      ...new Set(
        texts.match(
          /\b(?:readText|readJson|writeText|listFiles|copyFile|removeFile|createH\w+|\w+Sync|randomBytes)\b/g,
        ),
      ),
    ];
    expect(called.length + words.length).toBeGreaterThan(10);
    const program = `
      const modules = ['crypto', 'child_process'].map((name) => require(name));
      const has = (name) => name.split('.').reduce((value, part) => value?.[part], globalThis) !== undefined;
      [...${JSON.stringify(called)}.filter((name) => !has(name)), ...${JSON.stringify(words)}.filter((name) => !has(name) && !modules.some((one) => name in one))]`;
    expect(await ask(javascript, program)).toEqual([]);
  });
});

describe('rows about features that Python guests do not have', () => {
  test('name modules that the guest does not have', async () => {
    const names = [...PYPI_ALTERNATIVES.keys(), ...UNSUPPORTED_MODULES.keys()];
    const program = `
import importlib.util
[name for name in ${JSON.stringify(names)} if importlib.util.find_spec(name)]`;
    expect(await ask(python, program)).toEqual([]);
  });

  test('name attributes that the modules of the guest do not have', async () => {
    const rows = MISSING_ATTRIBUTES.map(({ module, names }) => [module, names]);
    const program = `
import importlib
[[module, name] for module, names in ${JSON.stringify(rows)} for name in names if hasattr(importlib.import_module(module), name)]`;
    expect(await ask(python, program)).toEqual([]);
  });

  test('suggest modules and functions that exist', async () => {
    const texts = textsOf([
      ...PYPI_ALTERNATIVES.values(),
      ...UNSUPPORTED_MODULES.values(),
      Object.fromEntries(COMMANDS),
    ]);
    const dotted = [...new Set(texts.match(/\b[a-z_][a-z_0-9]*(?:\.[A-Za-z_]\w*)+/g))];
    const modules =
      're string collections math statistics fractions decimal array csv sqlite3 zlib struct hashlib hmac secrets dataclasses typing argparse json unittest shelve zoneinfo datetime tomllib importlib zipfile shutil sysconfig asyncio wave logging base64 tarfile gzip difflib runpy';
    // Variables and files in examples.
    const examples = ['line.split', 'text.translate', 'text.split', 'str.maketrans', 'dict.fromkeys'];
    const names = dotted.filter((name) => !examples.includes(name) && !name.endsWith('.py'));
    const program = `
import builtins, importlib.util
def exists(name):
    module, *attributes = name.split('.')
    try:
        value = getattr(builtins, module, None) or importlib.import_module(module)
        for attribute in attributes:
            module += '.' + attribute
            value = getattr(value, attribute) if hasattr(value, attribute) else importlib.import_module(module)
    except ImportError:
        return False
    return True
[name for name in '${modules}'.split() if not importlib.util.find_spec(name)] + [name for name in ${JSON.stringify(names)} if not exists(name)]`;
    expect(await ask(python, program)).toEqual([]);
  });

  test('suggest calls to chart that run', async () => {
    const calls = CHART_CALLS.flatMap(([, ...lines]) => lines);
    const program = `
x, y, names, values, matrix = [1, 2], [3, 4], ['a', 'b'], [5, 6], [[1, 2], [3, 4]]
rows = [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 2}]
display = repr
[${calls.join(', ')}]`;
    expect(await ask(python, program)).toEqual(
      calls.map(() => expect.stringMatching(/^Chart\(\w+, \d+ rows/)),
    );
  });

  test('suggest charts for the plots of a program', async () => {
    const { error_guidance: guidance } = (
      await python.execute("import matplotlib.pyplot as plt\nplt.bar(['a'], [1])\nplt.title('T')\nplt.show()")
    ).metadata as { error_guidance: { actionable_guidance: string[]; code_examples: string[] } };
    expect(guidance.actionable_guidance).toContain(
      "In this program: display(chart.bar(['a'], [1], title='T'))",
    );
    expect(guidance.code_examples).toEqual(["display(chart.bar(['a'], [1], title='T'))"]);
  });
});
