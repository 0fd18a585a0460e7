/**
 * Stored sessions whose files were changed: every operation of the disk store succeeds or fails with a SandboxError, list()
 * never fails because of one session, and the session can be deleted.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { checkpoint, readComplete, session, state } from '../../stores/fixtures.ts';
import { applyEdits, applyJsonEdits, edits, jsonEdits } from '../mutations.ts';
import { accepts } from '../rejection.ts';
import type { FuzzTarget } from '../target.ts';

const CONTENTS = { 'a.txt': 'contents of a', 'd/b.txt': 'contents of b', l: '-> a.txt' };
const STORED = session('one', state(2, CONTENTS, 'memory', { t: 'in tmp' }), {
  undo: state(1, { 'a.txt': 'before' }),
  checkpoints: [checkpoint('c', state(0, { z: 'kept' }))],
});

const change = fc.oneof(
  { weight: 2, arbitrary: fc.record({ manifest: jsonEdits }) },
  { weight: 2, arbitrary: fc.record({ file: fc.nat(100), contents: edits }) },
  { weight: 1, arbitrary: fc.record({ file: fc.nat(100), removed: fc.constant(true) }) },
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function apply(folder: string, how: Change): void {
  if ('manifest' in how) {
    const path = join(folder, 'session.json');
    if (!existsSync(path)) return;
    let manifest: unknown;
    try {
      manifest = JSON.parse(readFileSync(path, 'utf8'));
    } catch {
      return; // An earlier change damaged the text.
    }
    writeFileSync(path, JSON.stringify(applyJsonEdits(manifest, how.manifest)) ?? '');
    return;
  }
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const path = files[how.file % files.length];
  if (path === undefined) return;
  if ('removed' in how) rmSync(path);
  else writeFileSync(path, applyEdits(new Uint8Array(readFileSync(path)), how.contents));
}

export const sessionReader: FuzzTarget = {
  name: 'session-reader',
  shortRuns: 20,
  open() {
    const outcomes = { accepted: 0, rejected: 0 };
    const root = mkdtempSync(join(tmpdir(), 'fuzz-store-'));
    let stores = 0;
    const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async (changes) => {
      const dir = join(root, String(stores++));
      const store = diskStore(dir);
      await store.write(STORED);
      await store.write(session('other', state(1)));
      for (const each of changes) apply(join(dir, 'one'), each);
      const { records, damaged } = await diskStore(dir).list();
      assert.ok(records.some(({ session_id }) => session_id === 'other'));
      assert.ok(damaged.every((id) => id === 'one'));
      const reopened = diskStore(dir);
      const isAccepted = await accepts(() => readComplete(reopened, 'one'), 'session_damaged');
      outcomes[isAccepted ? 'accepted' : 'rejected']++;
      await accepts(() => reopened.edits('one'), 'session_damaged');
      await accepts(() => reopened.readWorkspace('one'), 'session_damaged');
      await reopened.delete('one');
      assert.equal(existsSync(join(dir, 'one')), false);
      rmSync(dir, { recursive: true });
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 0, JSON.stringify(outcomes)),
      close: async () => rmSync(root, { recursive: true, force: true }),
    };
  },
};
