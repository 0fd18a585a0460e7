import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { IMPORT_ORDER } from './import-order.ts';

/** Rows whose rooms do not import each other at all. */
const STRANGERS = [['wasm', 'fs', 'analysis', 'concurrency']];
const PURE = ['wasm', 'fs', 'analysis', 'schema', 'errors', 'quantities'];
const FILE_SYSTEM_ROOMS = ['stores', 'host', 'runtimes', 'packages', 'worker/build', 'cli'];

interface Import {
  readonly target: string;
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

const src = new URL('../../src', import.meta.url).pathname;

function roomOf(path: string): string {
  return path.split('/')[0]!.replace(/\.ts$/, '');
}

const files: SourceFile[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(src, path), 'utf8');
    const found = text.matchAll(
      /(?:^|\n)(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|\bimport\('([^']+)'\)/g,
    );
    const imports = [...found].map(([, type, from, dynamic]) => {
      const target = from ?? dynamic!;
      const resolved = target.startsWith('.') ? relative(src, join(src, path, '..', target)) : target;
      return { target: resolved, isType: type !== undefined, isDynamic: from === undefined };
    });
    return { path, room: roomOf(path), text, imports };
  });

const row = (room: string) => IMPORT_ORDER.findIndex((rooms) => rooms.includes(room));
const own = ({ target }: { target: string }) => target.endsWith('.ts');

/** What each file imports, of the imports that count. */
function edgesThat(count: (found: Import) => boolean): Map<string, string[]> {
  return new Map(files.map(({ path, imports }) => [path, imports.filter(count).map(({ target }) => target)]));
}

/** All that the library and the command line load, by way of the imports that count. */
function fromTheEntries(
  count: (found: Import) => boolean,
  entries: readonly string[] = ['index.ts', 'cli/main.ts'],
): Set<string> {
  const edges = edgesThat(count);
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const next of edges.get(path) ?? []) visit(next);
  };
  for (const entry of entries) visit(entry);
  return reached;
}

test('every room has a place in the order', () => {
  expect(files.map(({ room }) => room).filter((room) => row(room) < 0)).toEqual([]);
});

test('imports point down', () => {
  const wrong = files.flatMap(({ path, room, imports }) =>
    imports
      .filter((found) => own(found) && roomOf(found.target) !== room && row(roomOf(found.target)) < row(room))
      .map((found) => `${path} → ${found.target}`),
  );
  expect(wrong).toEqual([]);
});

test('rooms of the lowest rows do not know each other', () => {
  const wrong = files.flatMap(({ path, room, imports }) => {
    const strangers = STRANGERS.find((rooms) => rooms.includes(room)) ?? [];
    return imports
      .filter(
        (found) => own(found) && roomOf(found.target) !== room && strangers.includes(roomOf(found.target)),
      )
      .map((found) => `${path} → ${found.target}`);
  });
  expect(wrong).toEqual([]);
});

test('stores share only the interface and the format, and the format does not touch the disk', () => {
  const storeOf = (path: string) => (path.split('/').length > 2 ? path.split('/')[1]! : undefined);
  const wrong = files
    .filter(({ room }) => room === 'stores')
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

test('there is no cycle between files', () => {
  const edges = edgesThat((found) => own(found) && !found.isType);
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) throw new Error(`cycle: ${[...trail, path].join(' → ')}`);
    if (done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) visit(path, []);
});

test('pure rooms import no node module and read no clock, random or global', () => {
  const wrong = files
    .filter(({ room }) => PURE.includes(room))
    .flatMap(({ path, text, imports }) => {
      const nodes = imports
        .filter(({ target }) => target.startsWith('node:'))
        .map(({ target }) => `${path} imports ${target}`);
      // Text about a global is no use of it.
      const code = text.replaceAll(/'[^'\n]*'/g, "''");
      const reads = [
        ...code.matchAll(/\b(Date\.now|performance\.|Math\.random|globalThis|process\.[a-z])/g),
      ].map(([read]) => `${path} reads ${read}`);
      return [...nodes, ...reads];
    });
  expect(wrong).toEqual([]);
});

test('only workers know of threads, only the guest instantiates, only the worker thread reaches it', () => {
  const threads = files.filter(({ imports }) =>
    imports.some(({ target }) => target === 'node:worker_threads'),
  );
  expect(threads.map(({ room }) => room).filter((room) => room !== 'worker')).toEqual([]);
  expect(
    files
      .filter(({ text }) => /new WebAssembly\.Instance|WebAssembly\.instantiate/.test(text))
      .map(({ path }) => path),
  ).toEqual(['engine/guest.ts']);
  const reached = fromTheEntries((found) => own(found) && !found.isType);
  expect([...reached]).not.toContain('engine/guest.ts');
  expect([...reached]).not.toContain('worker/entry.ts');
});

test('only the rooms that store, build or talk to a person touch the file system', () => {
  const touching = files
    .filter(({ imports }) => imports.some(({ target }) => /^node:fs/.test(target)))
    .map(({ path }) => path);
  expect(touching.filter((path) => !FILE_SYSTEM_ROOMS.some((room) => path.startsWith(room)))).toEqual([]);
});

test('nothing of the MCP SDK is loaded before its commands run', () => {
  const reached = fromTheEntries(({ isType, isDynamic }) => !isType && !isDynamic);
  const heavy = /^(@modelcontextprotocol|pino|prom-client|smol-toml|rate-limiter)/;
  expect([...reached].filter((target) => heavy.test(target))).toEqual([]);
  expect([...reached]).toContain('cli/commands/server-command.ts');
});

test('the command line loads the library only when a command runs', () => {
  const reached = fromTheEntries(({ isType, isDynamic }) => !isType && !isDynamic, ['cli/main.ts']);
  const library = ['session', 'sandbox', 'worker', 'packages', 'engine', 'stores'];
  expect([...reached].filter((path) => library.includes(roomOf(path)))).toEqual([]);
});
