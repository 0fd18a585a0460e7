/** Tables of the methods of a published package, of which each works or is refused with a reason. */
import { expect } from 'vitest';

/** The message of a call that must fail. */
export async function failureOf(call: () => unknown): Promise<string> {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (cause: Error & { stderr?: string }) => cause,
    );
  expect(error).toBeInstanceOf(Error);
  return `${error!.message} ${error!.stderr ?? ''}`;
}

/** The methods of an object and of its prototypes, without private ones. */
export function methodsOf(object: object, isPrivate: (name: string) => boolean): string[] {
  const found = new Set<string>();
  const ends: readonly unknown[] = [null, Object.prototype, Function.prototype];
  for (let at = object; !ends.includes(at); at = Object.getPrototypeOf(at))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor' && !isPrivate(name)) found.add(name);
  return [...found].sort();
}

/** Checks that a document lists the methods of a group that work. Returns the methods of both tables. */
export function checkDocumented(document: string, group: string, works: object, refused: object): string[] {
  const named = (table: object) =>
    Object.keys(table)
      .filter((name) => name.startsWith(`${group}.`))
      .map((name) => name.slice(group.length + 1));
  const listed = new RegExp(`^\\| \`${group}\` \\| ([^|]*) \\|`, 'm').exec(document)?.[1] ?? '';
  expect([...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name!).sort()).toEqual(named(works).sort());
  return named({ ...works, ...refused });
}
