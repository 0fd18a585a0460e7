/** A store whose files somebody changed: it answers with an error that names what is wrong, or with the truth. */
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
import { expect, test } from 'vitest';
import { SandboxError } from '../../src/errors.ts';
import { diskStore } from '../../src/stores/disk/disk-store.ts';
import { plainSession, scratch, session, state, text } from './support.ts';

const CONTENTS = { 'a.txt': 'contents of a', 'd/b.txt': 'contents of b', l: '-> a.txt' };
const damage = expect.objectContaining({ name: 'SandboxError', code: 'session_damaged' });

/** A store with a session of every kind of object, and its folder. */
async function written() {
  const dir = scratch();
  const store = diskStore(dir);
  const whole = session('one', state(2, CONTENTS, 'memory', { t: 'in tmp' }), {
    undo: state(1, { 'a.txt': 'before' }),
    checkpoints: [{ name: 'c', created_at: '2026-03-01T12:00:00.000Z', state: state(0, { z: 'kept' }) }],
  });
  await store.write(whole);
  const folder = join(dir, 'one');
  const object = (content: string, suffix: string) =>
    join(folder, 'objects', createHash('sha256').update(content).digest('hex') + suffix);
  return { dir, store, whole, folder, object };
}

// biome-ignore lint/suspicious/noExplicitAny: these are manifests of every wrong shape.
type Amendment = (manifest: any) => void;

/** Changes session.json. */
function amend(folder: string, change: Amendment): void {
  const path = join(folder, 'session.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

/** Puts an object of any content under its right name and returns a reference to it. */
function plant(folder: string, content: string, suffix: string) {
  const sha256 = createHash('sha256').update(content).digest('hex');
  writeFileSync(join(folder, 'objects', sha256 + suffix), content);
  return { sha256, bytes: Buffer.byteLength(content) };
}

test('a damaged session is named by list, refused by read, and its files can still be had', async () => {
  const { dir, store, folder } = await written();
  await store.write(session('fine', state(1)));
  writeFileSync(join(folder, 'session.json'), '{"format": 2,');
  const { records, damaged } = await store.list();
  expect([records.map(({ session_id }) => session_id), damaged]).toEqual([['fine'], ['one']]);
  await expect(store.read('one')).rejects.toEqual(damage);
  await expect(store.read('one')).rejects.toThrow(
    /"one" is damaged: .*session\.json is not JSON.*readWorkspace/,
  );
  await expect(store.edits('one')).rejects.toEqual(damage);
  const salvaged = (await store.readWorkspace('one'))!;
  expect(salvaged.damage).toContain('session.json is not JSON');
  expect([...salvaged.workspace].map(([path, { data }]) => [path, text(data)])).toEqual([
    ['a.txt', 'contents of a'],
    ['d', undefined],
    ['d/b.txt', 'contents of b'],
  ]);
  expect(await diskStore(dir).delete('one')).toBeGreaterThan(0);
  expect(existsSync(folder)).toBe(false);
});

test('files that only the objects have are salvaged, too', async () => {
  const { store, folder, object } = await written();
  rmSync(object('memory', '.memory'));
  rmSync(join(folder, 'workspace', 'a.txt'));
  rmSync(join(folder, 'workspace', 'd'), { recursive: true });
  rmSync(object('contents of b', '.data'));
  const { workspace, damage: reason } = (await store.readWorkspace('one'))!;
  expect(reason).toMatch(/\.memory is missing/);
  expect([...workspace.keys()]).toEqual(['a.txt', 'd', 'l']);
  expect(text(workspace.get('a.txt')!.data)).toBe('contents of a');
});

test('a damaged session can be written anew', async () => {
  const { store, folder } = await written();
  writeFileSync(join(folder, 'session.json'), '');
  const anew = session('one', state(5, { 'a.txt': 'anew' }));
  await store.write(anew);
  expect(plainSession(await store.read('one'))).toEqual(plainSession(anew));
  expect(readFileSync(join(folder, 'workspace', 'a.txt'), 'utf8')).toBe('anew');
});

test('session.json is refused when a key is missing, unknown or of another type', async () => {
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
    'an id that climbs': (m) => {
      m.record.session_id = '../one';
    },
    'another runtime': (m) => {
      m.record.runtime = 'ruby';
    },
    'negative calls': (m) => {
      m.record.calls = -1;
    },
    'a digest that climbs': (m) => {
      m.state.memory.sha256 = '../../../../etc/passwd';
    },
    'a digest in capitals': (m) => {
      m.state.memory.sha256 = m.state.memory.sha256.toUpperCase();
    },
    'a wrong size': (m) => {
      m.state.memory.bytes += 1;
    },
    'an enormous size': (m) => {
      m.state.memory.bytes = 2 ** 50;
    },
    'an enormous tree': (m) => {
      m.undo.workspace.bytes = 2 ** 50;
    },
    'memory that is a tree': (m) => {
      m.state.memory = m.state.workspace;
    },
    'a state that is null': (m) => {
      m.state = null;
    },
    'the record alone': (m) => {
      for (const key of Object.keys(m)) if (key !== 'record') delete m[key];
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    const { store, folder } = await written();
    amend(folder, change);
    await expect(store.read('one'), what).rejects.toEqual(damage);
  }
});

test('a tree whose paths climb, repeat or have no parent is refused, though its digest is right', async () => {
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
    const { dir, store, folder } = await written();
    const entries = make(plant(folder, 'payload', '.data'));
    const tree = plant(folder, JSON.stringify({ format: 2, entries }), '.tree.json');
    amend(folder, (manifest) => {
      manifest.state.workspace = tree;
    });
    const outside = readdirSync(dir);
    await expect(store.read('one'), JSON.stringify(entries)).rejects.toEqual(damage);
    await expect(store.edits('one'), JSON.stringify(entries)).rejects.toEqual(damage);
    expect(readdirSync(dir).sort()).toEqual([...new Set([...outside, '.locks'])].sort());
  }
});

test('a list of changes that climbs out of the workspace is refused', async () => {
  const { dir, store, folder } = await written();
  writeFileSync(join(dir, 'victim'), 'mine');
  rmSync(join(folder, 'workspace.json'));
  for (const path of ['../../victim', '/etc/hosts', '..', 'a/../../../victim', '']) {
    const unsynced = plant(folder, JSON.stringify([[path, null]]), '.changes.json');
    amend(folder, (manifest) => {
      manifest.unsynced = unsynced;
    });
    await expect(store.edits('one'), path).rejects.toEqual(damage);
  }
  expect(readFileSync(join(dir, 'victim'), 'utf8')).toBe('mine');
});

test('an object that is changed, cut, missing or enormous is refused', async () => {
  const harm: Record<string, (path: string) => void> = {
    changed: (path) =>
      writeFileSync(
        path,
        readFileSync(path).map((byte) => byte ^ 1),
      ),
    cut: (path) => truncateSync(path, 3),
    missing: (path) => rmSync(path),
    enormous: (path) => truncateSync(path, 2 ** 42),
    folder: (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  };
  for (const [what, change] of Object.entries(harm)) {
    for (const [content, suffix] of [
      ['memory', '.memory'],
      ['contents of a', '.data'],
      ['before', '.data'],
      ['kept', '.data'],
    ]) {
      const { store, object } = await written();
      change(object(content!, suffix!));
      await expect(store.read('one'), `${what} ${content}`).rejects.toEqual(damage);
    }
  }
});

test('an enormous session.json is refused before it is read', async () => {
  const { store, folder } = await written();
  truncateSync(join(folder, 'session.json'), 2 ** 42);
  await expect(store.read('one')).rejects.toEqual(damage);
  expect((await store.list()).damaged).toEqual(['one']);
});

test('links in the place of a session, its folders or its files are not followed', async () => {
  const elsewhere = await written();
  const { dir, store, folder } = await written();
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
  expect(plainSession(await elsewhere.store.read('one'))).toEqual(plainSession(elsewhere.whole));
});

test('deleting a session removes links in it, not what they lead to', async () => {
  const { store, folder } = await written();
  const outside = scratch();
  writeFileSync(join(outside, 'mine'), 'mine');
  symlinkSync(outside, join(folder, 'workspace', 'link'));
  symlinkSync(outside, join(folder, 'link'));
  await store.delete('one');
  expect(readFileSync(join(outside, 'mine'), 'utf8')).toBe('mine');
});

test('more than a session may hold is not written, nor read', async () => {
  const { dir, store, whole } = await written();
  const small = diskStore(dir, { max_session_bytes: 1000 });
  const large = session('large', state(1, { f: 'x'.repeat(1001) }));
  await expect(small.write(large)).rejects.toEqual(expect.objectContaining({ code: 'session_limit' }));
  await store.write(large);
  await expect(small.read('large')).rejects.toEqual(damage);
  expect(plainSession(await store.read('one'))).toEqual(plainSession(whole));
});

test('folders and files that are no sessions are left alone', async () => {
  const { dir, store } = await written();
  mkdirSync(join(dir, 'not.a.session'));
  mkdirSync(join(dir, 'empty'));
  writeFileSync(join(dir, 'notes'), 'mine');
  expect(await store.list()).toMatchObject({ records: [{ session_id: 'one' }], damaged: [] });
  expect(await store.read('notes')).toBeUndefined();
  await store.delete('one');
  expect(readdirSync(dir).sort()).toEqual(['.locks', '.trash', 'not.a.session', 'notes']);
});

test('whatever is done to any file of a session, the answer is the truth or a SandboxError', async () => {
  const { store, whole, folder } = await written();
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
          for (const ask of [store.read, store.edits, store.readWorkspace]) {
            try {
              const answer = await ask('one');
              // Facts of the record have no digest: a changed digit is another fact, but never another file or memory.
              if (ask === store.read) {
                expect({
                  ...(plainSession(answer as typeof whole) as object),
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
    { numRuns: 150 },
  );
  expect(plainSession(await store.read('one'))).toEqual(expected);
});

test('limits in session.json that a policy could not have make the session damaged, with its files still readable', async () => {
  const changes: Record<string, [Amendment, RegExp]> = {
    'no policy': [(m) => delete m.record.policy, /does not fit at record\.policy/],
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
    'a limit that is no number': [
      (m) => {
        m.record.policy.fuel_budget = 'all';
      },
      /record\.policy\.fuel_budget/,
    ],
    'more memory than there is': [
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
      /record\.policy\.env: a session keeps at most/,
    ],
    'an older format': [
      (m) => {
        m.format = 1;
      },
      /has format 1, this version reads 2/,
    ],
  };
  for (const [what, [change, reason]] of Object.entries(changes)) {
    const { store, folder } = await written();
    amend(folder, change);
    await expect(store.read('one'), what).rejects.toThrow(reason);
    expect((await store.list()).damaged, what).toEqual(['one']);
    const { workspace, damage } = (await store.readWorkspace('one'))!;
    expect(damage, what).toMatch(reason);
    expect(text(workspace.get('a.txt')!.data), what).toBe('contents of a');
  }
});
