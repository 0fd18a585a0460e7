/** Reads tables of advice. Their rows are data: `runtimes/<language>/guidance/advice.json`. */

/** Finds the advice for a text: that of the first pattern that matches. */
export function adviceByPattern(
  table: Readonly<Record<string, string>>,
): (text: string) => string | undefined {
  const rows = Object.entries(table).map(([pattern, advice]) => ({ pattern: new RegExp(pattern), advice }));
  return (text) => rows.find(({ pattern }) => pattern.test(text))?.advice;
}

/** The rows of a table by name. Names of a row are separated by spaces. */
export const rowsByName = <Row>(
  rows: readonly (Row & { readonly names: string })[],
): ReadonlyMap<string, Row> =>
  new Map(rows.flatMap(({ names, ...row }) => names.split(' ').map((name) => [name, row as Row])));

/** The keys of a table by name. Names of a key are separated by spaces. */
export const keysByName = <Key extends string>(
  table: Readonly<Record<Key, string>>,
): ReadonlyMap<string, Key> =>
  new Map(
    Object.entries<string>(table).flatMap(([key, names]) =>
      names.split(' ').map((name) => [name, key as Key]),
    ),
  );
