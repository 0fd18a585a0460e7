import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Import, importsOf, SOURCES } from '../support/sources.ts';
import { IMPORT_ORDER } from './import-order.ts';

/** Folders that do not import each other although the order would allow it. */
const INDEPENDENT = [
  ['wasm', 'fs', 'analysis', 'concurrency'],
  ['mcp', 'playground', 'e2b', 'jupyter'],
];
const PURE = ['wasm', 'fs', 'analysis', 'schema', 'errors', 'quantities'];
const FILE_SYSTEM_FOLDERS = [
  'server/server-file',
  'stores',
  'host',
  'runtimes',
  'packages',
  'charts/artifacts',
  'cli',
  'redteam',
  'network',
];

const folderOf = (path: string) => path.split('/')[0]!.replace(/\.ts$/, '');

const files = SOURCES.map((source) => ({
  ...source,
  folder: folderOf(source.path),
  imports: importsOf(source),
}));

const row = (folder: string) => IMPORT_ORDER.findIndex((folders) => folders.includes(folder));
const isOwn = ({ target }: { target: string }) => target.endsWith('.ts');

/** The imports of each file that satisfy a condition. */
function edgesThat(condition: (found: Import) => boolean): Map<string, string[]> {
  return new Map(
    files.map(({ path, imports }) => [path, imports.filter(condition).map(({ target }) => target)]),
  );
}

/** All files that the entry points load through imports that satisfy a condition. */
function loadedFiles(
  condition: (found: Import) => boolean,
  entries: readonly string[] = ['index.ts', 'cli/main.ts'],
): Set<string> {
  const edges = edgesThat(condition);
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const next of edges.get(path) ?? []) visit(next);
  };
  for (const entry of entries) visit(entry);
  return reached;
}

test('the import order lists every folder', () => {
  expect(files.map(({ folder }) => folder).filter((folder) => row(folder) < 0)).toEqual([]);
});

/** The packages that each package may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'packages/core': [],
  'packages/server': ['core'],
  'packages/adapters': ['core'],
  'tools/redteam': ['core'],
  'packages/cli': ['core', 'server', 'adapters', 'redteam'],
};

test('packages import each other by name and in one direction', () => {
  const wrong = files.flatMap(({ file, text }) => {
    const own = file.split('/src/')[0]!;
    const specifiers = [...text.matchAll(/(?:from |import\()'([^']+)'/g)].map(([, one]) => one!);
    return specifiers
      .filter((one) => {
        const other = /^@llm-wasm-sandbox\/(\w+)/.exec(one)?.[1];
        if (other !== undefined) return !PACKAGES[own]!.includes(other);
        return one.startsWith('.') && !join(file, '..', one).startsWith(`${own}/src/`);
      })
      .map((one) => `${file} → ${one}`);
  });
  expect(wrong).toEqual([]);
});

test('imports point downwards', () => {
  const wrong = files.flatMap(({ path, folder, imports }) =>
    imports
      .filter(
        (found) =>
          isOwn(found) && folderOf(found.target) !== folder && row(folderOf(found.target)) < row(folder),
      )
      .map((found) => `${path} → ${found.target}`),
  );
  expect(wrong).toEqual([]);
});

test('only the command of the red team loads it', () => {
  const importers = files.filter(
    ({ folder, imports }) =>
      folder !== 'redteam' && imports.some(({ target }) => target.startsWith('redteam/')),
  );
  expect(importers.map(({ path }) => path)).toEqual(['cli/commands/redteam.ts']);
});

test('independent folders do not import each other', () => {
  const wrong = files.flatMap(({ path, folder, imports }) => {
    const others = INDEPENDENT.find((folders) => folders.includes(folder)) ?? [];
    return imports
      .filter(
        (found) =>
          isOwn(found) && folderOf(found.target) !== folder && others.includes(folderOf(found.target)),
      )
      .map((found) => `${path} → ${found.target}`);
  });
  expect(wrong).toEqual([]);
});

test('the server names no protocol where it admits and answers requests', () => {
  const neutral = ['http-app', 'http-server', 'protocol', 'request-guards', 'request-body', 'rest-call'];
  const named = neutral.flatMap((name) =>
    (
      files.find(({ path }) => path === `server/${name}.ts`)!.text.match(/mcp|e2b|jupyter|playground/gi) ?? []
    ).map((found) => `${name}: ${found}`),
  );
  expect(named).toEqual([]);
});

test('stores share only the interface and the format, and the format does not touch the disk', () => {
  const storeOf = (path: string) => (path.split('/').length > 2 ? path.split('/')[1]! : undefined);
  const wrong = files
    .filter(({ folder }) => folder === 'stores')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => {
          const other = target.startsWith('stores/') ? storeOf(target) : undefined;
          const isOtherStore = other !== undefined && other !== 'format' && other !== storeOf(path);
          const isDisk = /^node:(fs|path|os)/.test(target);
          return isOtherStore || (storeOf(path) === 'format' && isDisk);
        })
        .map(({ target }) => `${path} → ${target}`),
    );
  expect(wrong).toEqual([]);
});

test('no two files import each other, directly or indirectly, not even types', () => {
  const edges = edgesThat(isOwn);
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) throw new Error(`cycle: ${[...trail, path].join(' → ')}`);
    if (done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) visit(path, []);
});

test('pure folders use no Node.js module, clock, randomness or global', () => {
  const wrong = files
    .filter(({ folder }) => PURE.includes(folder))
    .flatMap(({ path, text, imports }) => {
      const nodes = imports
        .filter(({ target }) => target.startsWith('node:'))
        .map(({ target }) => `${path} imports ${target}`);
      // A string that mentions a global is not a use of it.
      const code = text.replaceAll(/'[^'\n]*'/g, "''");
      const reads = [
        ...code.matchAll(/\b(Date\.now|performance\.|Math\.random|globalThis|process\.[a-z])/g),
      ].map(([read]) => `${path} reads ${read}`);
      return [...nodes, ...reads];
    });
  expect(wrong).toEqual([]);
});

test('only worker/ uses threads, and a store to watch folders; only engine/guest.ts instantiates modules, and only the worker thread loads it', () => {
  const threads = files.filter(({ imports }) =>
    imports.some(({ target }) => target === 'node:worker_threads'),
  );
  expect(threads.map(({ path }) => path).filter((path) => !path.startsWith('worker/'))).toEqual([
    'stores/disk/folder-watch.ts',
  ]);
  expect(
    files
      .filter(({ text }) => /new WebAssembly\.Instance|WebAssembly\.instantiate/.test(text))
      .map(({ path }) => path),
  ).toEqual(['engine/guest.ts']);
  const reached = loadedFiles((found) => isOwn(found) && !found.isType);
  expect([...reached]).not.toContain('engine/guest.ts');
  expect([...reached]).not.toContain('worker/thread/thread-entry.ts');
});

test('only threads load the engine, worker/thread and worker/guest-processes', () => {
  const IN_THREAD = /^worker\/(thread|guest-processes)\//;
  const LOADS_ENGINE = /^(engine|worker\/thread|worker\/guest-processes|runtimes|charts)\//;
  /** Constants, digests and a file format. */
  const DATA = ['engine/run-context.ts', 'engine/image-identity.ts', 'engine/side-module-stub-file.ts'];
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter(
        ({ target, isType }) =>
          (target.startsWith('engine/') && !isType && !LOADS_ENGINE.test(path) && !DATA.includes(target)) ||
          (IN_THREAD.test(target) && !IN_THREAD.test(path)),
      )
      .map(({ target }) => `${path} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('only folders that store files, build guests or serve the command line use the file system', () => {
  const touching = files
    .filter(({ imports }) => imports.some(({ target }) => /^node:fs/.test(target)))
    .map(({ path }) => path);
  expect(touching.filter((path) => !FILE_SYSTEM_FOLDERS.some((folder) => path.startsWith(folder)))).toEqual(
    [],
  );
});

test('only the build imports what the published package leaves out', () => {
  const isLeftOut = (path: string) => /\/build\/|\/guidance\/example-[\w-]+\.ts$/.test(path);
  const imports = edgesThat((found) => isOwn(found) && isLeftOut(found.target));
  const wrong = [...imports].filter(([path, found]) => !isLeftOut(path) && found.length > 0);
  expect(wrong).toEqual([]);
  expect(files.filter(({ path }) => isLeftOut(path)).length).toBeGreaterThan(0);
});

test('nothing of the MCP SDK is loaded before its commands run', () => {
  const entries = ['index.ts', 'cli/main.ts', 'cli/commands/mcp.ts', 'cli/commands/serve.ts'];
  const reached = loadedFiles(({ isType, isDynamic }) => !isType && !isDynamic, entries);
  const heavy = /^(@modelcontextprotocol|pino|prom-client|smol-toml|rate-limiter)/;
  expect([...reached].filter((target) => heavy.test(target))).toEqual([]);
  expect([...reached]).toContain('cli/commands/server-command.ts');
});

test('the command line loads no command and no schema before it knows which command to run', () => {
  const reached = loadedFiles(({ isType, isDynamic }) => !isType && !isDynamic, ['cli/main.ts']);
  expect([...reached].filter((path) => path.startsWith('cli/commands/') || path === 'zod')).toEqual([]);
});

test('the command line loads the library only when a command runs', () => {
  const reached = loadedFiles(({ isType, isDynamic }) => !isType && !isDynamic, ['cli/main.ts']);
  const library = ['session', 'sandbox', 'worker', 'packages', 'engine', 'stores'];
  expect([...reached].filter((path) => library.includes(folderOf(path)))).toEqual([]);
});

test('the command line loads no bundle of the library before it loads a command', () => {
  const reached = loadedFiles(({ isType, isDynamic }) => !isType && !isDynamic, ['cli/dispatch-command.ts']);
  const loading = files.filter(
    ({ path, text }) => reached.has(path) && text.includes("'@llm-wasm-sandbox/core/internal'"),
  );
  expect([...reached]).toContain('cli/exit-codes.ts');
  expect(loading.map(({ path }) => path)).toEqual([]);
});

test('threads that run guests, and what starts them early, load neither Zod nor the error guidance', () => {
  const entries = ['worker/thread/thread-entry.ts', 'cli/early-start.ts'];
  const reached = [...loadedFiles(({ isType, isDynamic }) => !isType && !isDynamic, entries)];
  expect(
    reached.filter((path) => path === 'zod' || path === 'schema.ts' || path.includes('/guidance/')),
  ).toEqual([]);
  expect(reached).toContain('engine/guest.ts');
});

test('threads that run guests create zlib streams only in sections in which they are not terminated', () => {
  const reached = loadedFiles((found) => isOwn(found) && !found.isType, ['worker/thread/thread-entry.ts']);
  const calls = files
    .filter(({ path }) => reached.has(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(.*)\b(?:(?:brotli|deflate|inflate|gzip|gunzip|unzip)\w*Sync|compress)\(/g)]
        .map(([, before]) => before!)
        .filter((before) => !/uninterrupted\(\(\) => $|function $/.test(before))
        .map((before) => `${path}: ${before}`),
    );
  expect(calls).toEqual([]);
  expect(reached).toContain('engine/page-diff-codec.ts');
});

test('programs of the host are started in one place, and guests in their own process', () => {
  const starts = files.filter(({ imports }) =>
    imports.some(({ target, isType }) => target === 'node:child_process' && !isType),
  );
  expect(starts.map(({ path }) => path).sort()).toEqual([
    'host/start-program.ts',
    'worker/isolation/isolated-host.ts',
  ]);
});
