/** Random edits of bytes. Positions are taken modulo the length, so that an edit applies to any file. */
import fc from 'fast-check';

const position = fc.nat(0x7fffffff);
/** Values that are more interesting than their neighbours: limits of LEB128, signs, opcodes of blocks. */
const byte = fc.oneof(fc.constantFrom(0, 1, 0x40, 0x7f, 0x80, 0xff), fc.nat(255));

const SET = fc.record({ kind: fc.constant('set'), at: position, byte });
const FLIP = fc.record({ kind: fc.constant('flip'), at: position, bit: fc.nat(7) });
const edit = fc.oneof(
  { weight: 6, arbitrary: SET },
  { weight: 4, arbitrary: FLIP },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('insert'),
      at: position,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('remove'),
      at: position,
      count: fc.integer({ min: 1, max: 16 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('copy'), at: position, from: position, count: fc.nat(64) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate'), at: position }) },
);
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

export const edits = fc.array(edit, { minLength: 1, maxLength: 6 });

/** One or two edits that keep the length, so that the structure around them often stays valid. */
export const smallEdits = fc.array<Edit>(fc.oneof(SET, FLIP), { minLength: 1, maxLength: 2 });

/** Applies edits to a copy of `bytes`. Bytes before `from` stay as they are. */
export function applyEdits(bytes: Uint8Array, list: readonly Edit[], from = 0): Uint8Array {
  return list.reduce<Uint8Array>((current, each) => applyEdit(current, each, from), bytes.slice());
}

function applyEdit(bytes: Uint8Array, change: Edit, from: number): Uint8Array {
  const span = bytes.length - from;
  if (span <= 0) return bytes;
  const at = from + (change.at % span);
  const next = bytes.slice();
  if ('byte' in change) next[at] = change.byte;
  else if ('bit' in change) next[at]! ^= 1 << change.bit;
  else if ('bytes' in change) return joined(bytes.subarray(0, at), change.bytes, bytes.subarray(at));
  else if ('from' in change) {
    const source = from + (change.from % span);
    next.set(bytes.subarray(source, source + Math.min(change.count, bytes.length - at)), at);
  } else if ('count' in change) return joined(bytes.subarray(0, at), bytes.subarray(at + change.count));
  else return bytes.slice(0, at);
  return next;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', 0, -1, 1.5, 2 ** 32, 2 ** 53, -(2 ** 63), 1e308, [], {}),
  fc.string({ maxLength: 20 }),
  fc.constantFrom(
    '../../up',
    '/etc/passwd',
    '\u0000',
    '\ud800',
    'constructor',
    '__proto__',
    'a'.repeat(5000),
  ),
);
const jsonEdit = fc.record({
  at: position,
  kind: fc.constantFrom('replace', 'remove', 'add'),
  value: scalar,
});

export const jsonEdits = fc.array(jsonEdit, { minLength: 1, maxLength: 4 });

/** Replaces, removes or adds members anywhere in a JSON value, and returns the changed copy. */
export function applyJsonEdits(
  value: unknown,
  list: readonly { at: number; kind: string; value: unknown }[],
): unknown {
  const copy = structuredClone(value);
  for (const { at, kind, value: replacement } of list) {
    const places = placesOf(copy);
    const place = places[at % places.length];
    if (place === undefined) return replacement;
    const [holder, key] = place;
    if (kind === 'replace') holder[key] = replacement;
    else if (kind === 'add') holder[`${key}x`] = replacement;
    else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  }
  return copy;
}

type Holder = Record<string, unknown>;

/** Every member of every object and array in the value. */
function placesOf(value: unknown, found: [Holder, string][] = []): [Holder, string][] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, member] of Object.entries(value)) {
    found.push([value as Holder, key]);
    placesOf(member, found);
  }
  return found;
}

/** Null, except in one of `odds` cases. */
export function rarely<T>(odds: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: odds - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}
