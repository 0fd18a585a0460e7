import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry, TreeEdit } from '../../packages/core/src/fs/flat-entries.ts';
import { EMPTY_TREE, FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import {
  ReceivedTrees,
  SentTrees,
  type TreeUpdate,
} from '../../packages/core/src/worker/protocol/tree-updates.ts';
import { tree as anyTree } from '../fs/arbitraries.ts';
import { codeOf, dir, file, link } from '../fs/support.ts';

/** Both sides of the connection to a thread. */
class Channel {
  readonly sent = new SentTrees();
  readonly received = new ReceivedTrees();
  lastUpdate: TreeUpdate | undefined;
  readonly updates = new Map<string, TreeUpdate>();

  /** Sends a tree and returns what arrives. */
  send(id: string, tree: FileTree): FileTree {
    const update = this.sent.updateTo({ id, tree });
    const arrived = this.received.receive(structuredClone(update));
    this.sent.recordSent(update, tree);
    this.lastUpdate = update;
    this.updates.set(id, update);
    return arrived;
  }

  /** Reports what a call has changed. */
  change(id: string, changes: TreeEdit): void {
    const update = this.updates.get(id)!;
    this.received.recordChanges(update, (before) => before.apply(changes));
    this.sent.recordChanges(update, (before) => before.apply(structuredClone(changes)));
  }
}

const values = (tree: FileTree) => [...tree.values()];
const asTree = (entries: readonly Entry[]) => FileTree.from(entries);

describe('tree updates', () => {
  it('lead to the tree that was sent, whatever the host and the calls change', () => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      /** A tree that the host writes, the changes of a call, or both. */
      host: fc.option(anyTree),
      call: fc.option(anyTree),
      isApplied: fc.boolean(),
      isForgotten: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const channel = new Channel();
        const workspaces = new Map<string, FileTree>();
        for (const { id, host, call, isApplied, isForgotten } of steps) {
          let tree = workspaces.get(id) ?? EMPTY_TREE;
          if (host !== null) tree = tree.apply(tree.difference(asTree(host)));
          expect(values(channel.send(id, tree))).toEqual(values(tree));
          if (call !== null) {
            const changes = tree.difference(asTree(call));
            channel.change(id, changes);
            // The host may reject the changes of a call, as after a rollback.
            if (isApplied) tree = tree.apply(changes);
          }
          workspaces.set(id, tree);
          if (isForgotten && channel.sent.discard(id)) channel.received.discard(id);
        }
      }),
    );
  });

  it('contain only what has changed', () => {
    const channel = new Channel();
    const start = asTree(Array.from({ length: 1000 }, (_, i) => file(`f${i}`)));
    channel.send('a', start);
    expect(channel.lastUpdate).toMatchObject({ base: null, edit: { removed: [] } });
    expect(channel.lastUpdate!.edit.entries).toHaveLength(1000);
    const written = { removed: ['f1'], entries: [file('new', 'n')] };
    channel.change('a', written);
    // The workspace applies the entries that the thread reported, so only the later write of the host is sent.
    const next = channel.sent.updateTo({ id: 'a', tree: start.apply(written).set(file('f2', 'host')) });
    expect(next.edit.removed).toEqual([]);
    expect(next.edit.entries.map(({ path }) => path)).toContain('f2');
    expect(next.edit.entries.length).toBeLessThanOrEqual(2);
  });

  it('keep at most eight trees, and neither empty nor large ones', () => {
    const channel = new Channel();
    channel.send('empty', asTree([file('f')]));
    for (let i = 0; i < 2; i++) channel.send('empty', asTree([]));
    expect(channel.lastUpdate).toMatchObject({ base: null, isKept: false });
    expect(channel.sent.discard('empty')).toBe(false);
    for (let i = 0; i < 9; i++) channel.send(`w${i}`, asTree([file('f', String(i))]));
    expect(channel.lastUpdate!.discarded).toEqual(['w0']);
    channel.send('w8', asTree([file('f', '8')]));
    expect(channel.lastUpdate!.base).not.toBeNull();
    channel.send('w0', asTree([file('f', '0')]));
    expect(channel.lastUpdate).toMatchObject({ base: null, discarded: ['w1'] });
    const large: Entry = { ...file('large'), data: new Uint8Array(new SharedArrayBuffer(65 * 2 ** 20)) };
    for (let i = 0; i < 2; i++) {
      channel.send('large', asTree([large]));
      expect(channel.lastUpdate).toMatchObject({ base: null, isKept: false, discarded: [] });
    }
    const half: Entry = { ...file('half'), data: new Uint8Array(new SharedArrayBuffer(40 * 2 ** 20)) };
    channel.send('one', asTree([half]));
    channel.send('two', asTree([half]));
    expect(channel.lastUpdate!.discarded).toContain('one');
  });

  const start = asTree([dir('d'), file('d/f', 'f'), dir('e'), file('g', 'g'), link('l', 'g')]);
  const next = start.set(file('d/new', 'n')).delete('g').set(file('l', 'file'));
  const damage: [string, (update: TreeUpdate) => object][] = [
    ['another base', ({ base }) => ({ base: base! + 1 })],
    ['the empty tree as its base', () => ({ base: null })],
    ['a missing entry', ({ edit }) => ({ edit: { ...edit, entries: edit.entries.slice(1) } })],
    ['a missing removal', ({ edit }) => ({ edit: { ...edit, removed: [] } })],
    ['another size', ({ size }) => ({ size: size + 1 })],
    ['other contents', ({ bytes }) => ({ bytes: bytes - 1 })],
    ['a removal of a path that does not exist', () => ({ edit: { removed: ['h'], entries: [] } })],
    ['a removed folder with files', () => ({ edit: { removed: ['d'], entries: [] } })],
    ['a file in place of a folder with files', () => ({ edit: { removed: [], entries: [file('d')] } })],
    ['a file without a folder', () => ({ edit: { removed: [], entries: [file('x/y')] } })],
    ['a file below a file', () => ({ edit: { removed: [], entries: [file('g/y')] } })],
    ['a path outside the workspace', () => ({ edit: { removed: [], entries: [file('../x')] } })],
    ['an absolute path', () => ({ edit: { removed: [], entries: [file('/x')] } })],
    ['a path that is too long', () => ({ edit: { removed: [], entries: [file('x'.repeat(300))] } })],
    ['an invalid mode', () => ({ edit: { removed: [], entries: [{ ...file('x'), mode: 0o10000 }] } })],
    ['a file without data', () => ({ edit: { removed: [], entries: [{ ...dir('x'), kind: 'file' }] } })],
  ];
  it.each(damage)('are refused with %s, and a full update follows', (_, damaged) => {
    const channel = new Channel();
    channel.send('a', start);
    const update = channel.sent.updateTo({ id: 'a', tree: next });
    const forged = { ...update, ...damaged(update) };
    expect(codeOf(() => channel.received.receive(structuredClone(forged)))).toBe('internal');
    // The main thread forgets a workspace whose call failed.
    channel.sent.discard('a');
    expect(values(channel.send('a', next))).toEqual(values(next));
  });
});
