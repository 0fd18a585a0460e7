/** A disk store whose files were changed: it returns correct data or throws an error that names the problem. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SandboxError } from '../../../packages/core/src/errors.ts';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { folderOfTest } from '../../support/folders.ts';
import { repetitions } from '../../support/repetitions.ts';
import { checkpoint, plainSession, readComplete, session, state, text } from '../fixtures.ts';

const CONTENTS = { 'a.txt': 'contents of a', 'd/b.txt': 'contents of b', l: '-> a.txt' };
const damage = expect.objectContaining({ name: 'SandboxError', code: 'session_damaged' });

/** Creates a store with a session that has every kind of object. */
async function createStore() {
  const dir = folderOfTest();
  const store = diskStore(dir);
  const whole = session('one', state(2, CONTENTS, 'memory', { t: 'in tmp' }), {
    undo: state(1, { 'a.txt': 'before' }),
    checkpoints: [checkpoint('c', state(0, { z: 'kept' }))],
  });
  await store.write(whole);
  const folder = join(dir, 'one');
  const object = (content: string, suffix: string) =>
    join(folder, 'objects', createHash('sha256').update(content).digest('hex') + suffix);
  return { dir, store, whole, folder, object };
}

// biome-ignore lint/suspicious/noExplicitAny: manifests of any shape.
type Amendment = (manifest: any) => void;

/** Changes session.json. */
function amend(folder: string, change: Amendment): void {
  const path = join(folder, 'session.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

/** Writes an object with any content under its correct name and returns a reference to it. */
function writeObject(folder: string, content: string, suffix: string) {
  const sha256 = createHash('sha256').update(content).digest('hex');
  writeFileSync(join(folder, 'objects', sha256 + suffix), content);
  return { sha256, bytes: Buffer.byteLength(content) };
}

describe('a disk store with tampered files', () => {
  test('list() reports a damaged session, read() rejects it, and readWorkspace() returns its files', async () => {
    const { dir, store, folder } = await createStore();
    await store.write(session('fine', state(1)));
    writeFileSync(join(folder, 'session.json'), '{"format": 2,');
    const { records, damaged } = await store.list();
    expect([records.map(({ session_id }) => session_id), damaged]).toEqual([['fine'], ['one']]);
    await expect(store.read('one')).rejects.toEqual(damage);
    await expect(store.read('one')).rejects.toThrow(
      /"one" is damaged: .*session\.json is not valid JSON.*readWorkspace/,
    );
    await expect(store.edits('one')).rejects.toEqual(damage);
    const recovered = (await store.readWorkspace('one'))!;
    expect(recovered.damage).toContain('session.json is not valid JSON');
    expect([...recovered.workspace].map(([path, { data }]) => [path, text(data)])).toEqual([
      ['a.txt', 'contents of a'],
      ['d', undefined],
      ['d/b.txt', 'contents of b'],
    ]);
    expect(await diskStore(dir).delete('one')).toBeGreaterThan(0);
    expect(existsSync(folder)).toBe(false);
  });

  test('readWorkspace() recovers files that exist only as objects', async () => {
    const { store, folder, object } = await createStore();
    rmSync(object('memory', '.memory'));
    rmSync(join(folder, 'workspace', 'a.txt'));
    rmSync(join(folder, 'workspace', 'd'), { recursive: true });
    rmSync(object('contents of b', '.data'));
    const { workspace, damage: reason } = (await store.readWorkspace('one'))!;
    expect(reason).toMatch(/\.memory is missing/);
    expect([...workspace.keys()]).toEqual(['a.txt', 'd', 'l']);
    expect(text(workspace.get('a.txt')!.data)).toBe('contents of a');
  });

  test('a write replaces a damaged session', async () => {
    const { store, folder } = await createStore();
    writeFileSync(join(folder, 'session.json'), '');
    const replacement = session('one', state(5, { 'a.txt': 'new' }));
    await store.write(replacement);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(replacement));
    expect(readFileSync(join(folder, 'workspace', 'a.txt'), 'utf8')).toBe('new');
  });

  test('read() rejects a session.json with a missing key, an unknown key or a value of the wrong type', async () => {
    const changes: Record<string, Amendment> = {
      'another format': (m) => {
        m.format = 1;
      },
      'an unknown key': (m) => {
        m.extra = 1;
      },
      'an unknown key of the record': (m) => {
        m.record.admin = true;
      },
      'no commit': (m) => {
        delete m.commit;
      },
      'another session': (m) => {
        m.record.session_id = 'two';
      },
      'an id that is a path': (m) => {
        m.record.session_id = '../one';
      },
      'another runtime': (m) => {
        m.record.runtime = 'ruby';
      },
      'negative calls': (m) => {
        m.record.calls = -1;
      },
      'a digest that is a path': (m) => {
        m.state.memory[0].sha256 = '../../../../etc/passwd';
      },
      'an upper-case digest': (m) => {
        m.state.memory[0].sha256 = m.state.memory[0].sha256.toUpperCase();
      },
      'a wrong size': (m) => {
        m.state.memory[0].bytes += 1;
      },
      'an enormous size': (m) => {
        m.state.memory[0].bytes = 2 ** 50;
      },
      'an enormous tree': (m) => {
        m.undo.workspace.bytes = 2 ** 50;
      },
      'memory that is a tree': (m) => {
        m.state.memory = [m.state.workspace];
      },
      'a state that is null': (m) => {
        m.state = null;
      },
      'only the record': (m) => {
        for (const key of Object.keys(m)) if (key !== 'record') delete m[key];
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      const { store, folder } = await createStore();
      amend(folder, change);
      await expect(store.read('one'), name).rejects.toEqual(damage);
    }
  });

  test('rejects an invalid tree even if its digest is correct', async () => {
    const file = { kind: 'file', mode: 420, mtime_ms: 0 };
    const trees = [
      (ref: object) => [{ ...file, path: '../../escape', ...ref }],
      (ref: object) => [{ ...file, path: '/etc/passwd', ...ref }],
      (ref: object) => [{ ...file, path: 'a\0b', ...ref }],
      (ref: object) => [
        { ...file, path: 'a', ...ref },
        { ...file, path: 'a', ...ref },
      ],
      (ref: object) => [{ ...file, path: 'no/parent', ...ref }],
      (ref: object) => [
        { ...file, path: 'b', ...ref },
        { ...file, path: 'a', ...ref },
      ],
      (ref: object) => [{ ...file, path: 'a', ...ref, mode: 0o200000 }],
      (ref: object) => [{ ...file, path: 'a', ...ref, mtime_ms: 1e300 }],
      (ref: object) => [{ ...file, path: 'a', ...ref, kind: 'device' }],
      () => [{ ...file, path: 'a' }],
      () => [{ path: 'l', kind: 'symlink', mode: 511, mtime_ms: 0, target: '' }],
      () => 'not a list',
    ];
    for (const make of trees) {
      const { dir, store, folder } = await createStore();
      const entries = make(writeObject(folder, 'payload', '.data'));
      const tree = writeObject(folder, JSON.stringify({ format: 2, entries }), '.tree.json');
      amend(folder, (manifest) => {
        manifest.state.workspace = tree;
      });
      const outside = readdirSync(dir);
      await expect(store.read('one'), JSON.stringify(entries)).rejects.toEqual(damage);
      await expect(store.edits('one'), JSON.stringify(entries)).rejects.toEqual(damage);
      expect(readdirSync(dir).sort()).toEqual([...new Set([...outside, '.locks'])].sort());
    }
  });

  test('rejects a changes object with a path outside the workspace', async () => {
    const { dir, store, folder } = await createStore();
    writeFileSync(join(dir, 'victim'), 'mine');
    rmSync(join(folder, 'workspace.json'));
    for (const path of ['../../victim', '/etc/hosts', '..', 'a/../../../victim', '']) {
      const unsynced = writeObject(folder, JSON.stringify([[path, null]]), '.changes.json');
      amend(folder, (manifest) => {
        manifest.unsynced = unsynced;
      });
      await expect(store.edits('one'), path).rejects.toEqual(damage);
    }
    expect(readFileSync(join(dir, 'victim'), 'utf8')).toBe('mine');
  });

  test('rejects an object that is changed, truncated, missing, too large or a folder', async () => {
    const damages: Record<string, (path: string) => void> = {
      changed: (path) =>
        writeFileSync(
          path,
          readFileSync(path).map((byte) => byte ^ 1),
        ),
      truncated: (path) => truncateSync(path, 3),
      missing: (path) => rmSync(path),
      'too large': (path) => truncateSync(path, 2 ** 42),
      'a folder': (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    };
    for (const [what, change] of Object.entries(damages)) {
      for (const [content, suffix] of [
        ['memory', '.memory'],
        ['contents of a', '.data'],
        ['before', '.data'],
        ['kept', '.data'],
      ]) {
        const { store, object } = await createStore();
        change(object(content!, suffix!));
        await expect(readComplete(store, 'one'), `${what} ${content}`).rejects.toEqual(damage);
      }
    }
  });

  test('rejects a session.json that is too large before reading it', async () => {
    const { store, folder } = await createStore();
    truncateSync(join(folder, 'session.json'), 2 ** 42);
    await expect(store.read('one')).rejects.toEqual(damage);
    expect((await store.list()).damaged).toEqual(['one']);
  });

  test('does not follow symbolic links in place of a session, its folders or its files', async () => {
    const elsewhere = await createStore();
    const { dir, store, folder } = await createStore();
    symlinkSync(elsewhere.folder, join(dir, 'linked'));
    expect(await store.read('linked')).toBeUndefined();
    expect((await store.list()).records.map(({ session_id }) => session_id)).toEqual(['one']);
    await expect(store.write(session('linked', state(1)))).rejects.toEqual(damage);
    expect(await store.size('linked')).toBe(0);
    expect(await store.delete('linked')).toBe(0);
    for (const name of ['session.json', 'objects']) {
      renameSync(join(folder, name), join(dir, 'aside'));
      symlinkSync(join(elsewhere.folder, name), join(folder, name));
      await expect(store.read('one'), name).rejects.toEqual(damage);
      rmSync(join(folder, name));
      renameSync(join(dir, 'aside'), join(folder, name));
    }
    rmSync(join(folder, 'staging'), { recursive: true });
    symlinkSync(elsewhere.dir, join(folder, 'staging'));
    await expect(store.write(session('one', state(3)))).rejects.toEqual(damage);
    expect(plainSession(await readComplete(elsewhere.store, 'one'))).toEqual(plainSession(elsewhere.whole));
  });

  test('deleting a session removes symbolic links, not their targets', async () => {
    const { store, folder } = await createStore();
    const outside = folderOfTest();
    writeFileSync(join(outside, 'mine'), 'mine');
    symlinkSync(outside, join(folder, 'workspace', 'link'));
    symlinkSync(outside, join(folder, 'link'));
    await store.delete('one');
    expect(readFileSync(join(outside, 'mine'), 'utf8')).toBe('mine');
  });

  test('neither writes nor reads a session above the size limit', async () => {
    const { dir, store, whole } = await createStore();
    const small = diskStore(dir, { maxSessionBytes: 1000 });
    const large = session('large', state(1, { f: 'x'.repeat(1001) }));
    await expect(small.write(large)).rejects.toEqual(expect.objectContaining({ code: 'session_limit' }));
    await store.write(large);
    await expect(small.read('large')).rejects.toEqual(damage);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(whole));
  });

  test('ignores files and folders that are not sessions', async () => {
    const { dir, store } = await createStore();
    mkdirSync(join(dir, 'not.a.session'));
    mkdirSync(join(dir, 'empty'));
    writeFileSync(join(dir, 'notes'), 'mine');
    expect(await store.list()).toMatchObject({ records: [{ session_id: 'one' }], damaged: [] });
    expect(await store.read('notes')).toBeUndefined();
    await store.delete('one');
    expect(readdirSync(dir).sort()).toEqual(['.locks', '.trash', 'not.a.session', 'notes']);
  });

  test('returns correct data or throws session_damaged after any change to any file', async () => {
    const { store, whole, folder } = await createStore();
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile() && !path.includes('/workspace/'));
    const originals = new Map(paths.map((path) => [path, readFileSync(path)]));
    const expected = plainSession(whole);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.nat(10_000),
        fc.nat(255),
        fc.constantFrom('byte', 'cut', 'insert', 'other file'),
        async (path, at, byte, how) => {
          const bytes = originals.get(path)!;
          const position = at % bytes.length;
          const changed = Buffer.from(bytes);
          changed[position] = byte;
          const insert = Buffer.concat([
            bytes.subarray(0, position),
            Buffer.from([byte]),
            bytes.subarray(position),
          ]);
          const other = originals.get(paths[at % paths.length]!)!;
          const forms = { byte: changed, cut: bytes.subarray(0, position), insert, 'other file': other };
          writeFileSync(path, forms[how as keyof typeof forms]);
          try {
            const read = (id: string) => readComplete(store, id);
            for (const method of [read, store.edits, store.readWorkspace]) {
              try {
                const result = await method('one');
                // The record has no digest, so a changed digit goes unnoticed there, but never in a file or in memory.
                if (method === read) {
                  expect({
                    ...(plainSession(result as typeof whole) as object),
                    record: 0,
                    checkpoints: 0,
                  }).toEqual({
                    ...(expected as object),
                    record: 0,
                    checkpoints: 0,
                  });
                }
              } catch (error) {
                if (!(error instanceof SandboxError)) throw error;
                expect(error.code).toBe('session_damaged');
              }
            }
            await store.list();
          } finally {
            writeFileSync(path, bytes);
          }
        },
      ),
      { numRuns: repetitions(25, 300) },
    );
    expect(plainSession(await readComplete(store, 'one'))).toEqual(expected);
  });

  // guarantee: stored-sessions
  test('rejects a session whose session.json has an invalid policy, but its files can still be read', async () => {
    const changes: Record<string, [Amendment, RegExp]> = {
      'no policy': [(m) => delete m.record.policy, /is invalid at record\.policy/],
      'a host path': [
        (m) => {
          m.record.policy.mounts = [{ host_path: '/etc', guest_path: '/external' }];
        },
        /record\.policy: .*mounts/,
      ],
      'an unknown limit': [
        (m) => {
          m.record.policy.root = true;
        },
        /record\.policy: .*root/,
      ],
      'a limit that is not a number': [
        (m) => {
          m.record.policy.fuel_budget = 'all';
        },
        /record\.policy\.fuel_budget/,
      ],
      'too much memory': [
        (m) => {
          m.record.policy.memory_bytes = 2 ** 40;
        },
        /record\.policy\.memory_bytes/,
      ],
      'a huge environment': [
        (m) => {
          m.record.policy.env = Object.fromEntries(
            Array.from({ length: 10 }, (_, i) => [`V${i}`, 'x'.repeat(32_768)]),
          );
        },
        /record\.policy\.env: /,
      ],
      'an older format': [
        (m) => {
          m.format = 1;
        },
        /has format version 1; this release reads version 3/,
      ],
    };
    for (const [name, [change, reason]] of Object.entries(changes)) {
      const { store, folder } = await createStore();
      amend(folder, change);
      await expect(store.read('one'), name).rejects.toThrow(reason);
      expect((await store.list()).damaged, name).toEqual(['one']);
      const { workspace, damage } = (await store.readWorkspace('one'))!;
      expect(damage, name).toMatch(reason);
      expect(text(workspace.get('a.txt')!.data), name).toBe('contents of a');
    }
  });
});
