/**
 * Applies random operations to a volume and to a naive model, a map from path to content. The model has no path walk
 * and no buffers. After every step both must agree on success, contents and usage.
 */
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { checkEntries } from '../../packages/core/src/fs/flat-entries.ts';
import type { Node } from '../../packages/core/src/fs/nodes.ts';
import { applyEdit, codeOf, newVolume, recount, recountPaths } from './support.ts';

type Thing = { kind: 'file'; bytes: number[] } | { kind: 'dir' };
const LIMITS = { maxBytes: 200, maxFiles: 12 };

/** A seeded generator, so that a failure can be reproduced. */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

class Model {
  readonly things = new Map<string, Thing>([['', { kind: 'dir' }]]);
  parent = (path: string) => this.things.get(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
  below = (path: string) => [...this.things.keys()].filter((key) => key.startsWith(`${path}/`));
  get bytes() {
    return [...this.things.values()].reduce(
      (sum, thing) => sum + (thing.kind === 'file' ? thing.bytes.length : 0),
      0,
    );
  }
  add(path: string, thing: Thing): boolean {
    const isFree = this.parent(path)?.kind === 'dir' && !this.things.has(path);
    if (!isFree || this.things.size > LIMITS.maxFiles) return false;
    this.things.set(path, thing);
    return true;
  }
  write(path: string, pos: number, data: number[]): boolean {
    const thing = this.things.get(path);
    if (thing?.kind !== 'file') return false;
    const growth = Math.max(0, pos + data.length - thing.bytes.length);
    if (this.bytes + growth > LIMITS.maxBytes) return false;
    while (thing.bytes.length < pos) thing.bytes.push(0);
    thing.bytes.splice(pos, data.length, ...data);
    return true;
  }
  truncate(path: string, size: number): boolean {
    const thing = this.things.get(path);
    if (thing?.kind !== 'file' || this.bytes + size - thing.bytes.length > LIMITS.maxBytes) return false;
    thing.bytes = Array.from({ length: size }, (_, i) => thing.bytes[i] ?? 0);
    return true;
  }
  remove(path: string, kind: Thing['kind']): boolean {
    if (this.things.get(path)?.kind !== kind || this.below(path).length > 0) return false;
    return this.things.delete(path);
  }
  rename(from: string, to: string): boolean {
    const thing = this.things.get(from);
    const old = this.things.get(to);
    if (thing === undefined || this.parent(to)?.kind !== 'dir') return false;
    if (from === to) return true;
    if (to.startsWith(`${from}/`) || (old && old.kind !== thing.kind) || this.below(to).length > 0)
      return false;
    for (const path of [from, ...this.below(from)]) {
      this.things.set(to + path.slice(from.length), this.things.get(path)!);
      this.things.delete(path);
    }
    return true;
  }
}

describe('Volume', () => {
  for (let seed = 1; seed <= 8; seed++) {
    it(`agrees with a naive model over 400 random operations (seed ${seed})`, () => {
      const pick = random(seed);
      const volume = newVolume(LIMITS);
      const model = new Model();
      const mirror = new Map<string, Entry>();
      const name = () => ['a', 'b', 'c'][pick(3)]!;
      const path = () => Array.from({ length: 1 + pick(3) }, name).join('/');
      const open = (at: string) => volume.open(at, '/app', { write: true }, 0).node;
      for (let step = 0; step < 400; step++) {
        const at = path();
        const to = path();
        const data = Array.from({ length: 1 + pick(30) }, () => 1 + pick(255));
        const [pos, size] = [pick(60), pick(90)];
        const operations: [() => boolean, () => unknown][] = [
          [() => model.add(at, { kind: 'dir' }), () => volume.mkdir(at, '/app', 0o755)],
          [
            () => model.add(at, { kind: 'file', bytes: [] }),
            () => volume.open(at, '/app', { create: true, exclusive: true, write: true }, 0o644),
          ],
          [() => model.write(at, pos, data), () => volume.write(open(at), pos, Uint8Array.from(data))],
          [() => model.truncate(at, size), () => volume.truncate(open(at), size)],
          [() => model.remove(at, 'file'), () => volume.unlink(at, '/app')],
          [() => model.remove(at, 'dir'), () => volume.rmdir(at, '/app')],
          [() => model.rename(at, to), () => volume.rename(at, '/app', to, '/app')],
        ];
        const [inModel, inVolume] = operations[pick(operations.length)]!;
        expect(codeOf(inVolume) === 'ok').toBe(inModel());
        const entries = volume.entries('/app');
        const things = entries.map((entry) => [entry.path, entry.data ? [...entry.data] : 'dir']);
        const wanted = [...model.things].filter(([key]) => key !== '');
        wanted.sort(([a], [b]) => (a < b ? -1 : 1));
        expect(things).toEqual(
          wanted.map(([key, thing]) => [key, thing.kind === 'file' ? thing.bytes : 'dir']),
        );
        expect(volume.usage()).toEqual({ bytes: model.bytes, files: model.things.size - 1 });
        if (step % 7 === 0) {
          applyEdit(mirror, volume.changes('/app'));
          expect(checkEntries(mirror.values())).toEqual(entries);
          volume.commit('/app');
        }
      }
    });

    it(`keeps its usage equal to a recount with links and open files (seed ${seed})`, () => {
      const pick = random(seed * 977);
      const volume = newVolume(LIMITS);
      const opened: Node[] = [];
      const path = () => `/${['app', 'tmp'][pick(2)]}/${['a', 'b', 'c', 'd/a', 'd'][pick(5)]}`;
      const operations = [
        () => opened.push(volume.open(path(), '/', { create: true, write: true }, 0o644).node),
        () => volume.write(opened[pick(opened.length)] ?? volume.root, pick(50), new Uint8Array(pick(40))),
        () => volume.truncate(opened[pick(opened.length)] ?? volume.root, pick(100)),
        () => volume.symlink(path(), path(), '/'),
        () => volume.mkdir(path(), '/', 0o755),
        () => volume.unlink(path(), '/'),
        () => volume.rmdir(path(), '/'),
        () => volume.rename(path(), '/', path(), '/'),
        () => opened.length > 0 && volume.release(opened.splice(pick(opened.length), 1)[0]!),
      ];
      for (let step = 0; step < 600; step++) {
        const before = opened.length;
        codeOf(operations[pick(operations.length)]!);
        if (opened.length > before) volume.retain(opened.at(-1)!);
        const orphans = new Set(opened.filter(({ nlink }) => nlink === 0));
        expect(volume.usage()).toEqual(recount(volume, orphans));
        expect(volume.pathBytes).toBe(recountPaths(volume));
        expect(volume.usage().bytes).toBeLessThanOrEqual(LIMITS.maxBytes);
        expect(volume.usage().files).toBeLessThanOrEqual(LIMITS.maxFiles);
        if (step % 50 === 0) {
          const copy = newVolume(LIMITS);
          copy.fill('/app', volume.entries('/app'));
          copy.fill('/tmp', volume.entries('/tmp'));
        }
      }
    });
  }
});
