/**
 * Checks a history of operations on lists that can only be appended to. The history is linearizable if every operation
 * can be placed at one point in time between its start and its end. The final list determines that order.
 */

export interface Operation {
  readonly list: string;
  readonly kind: 'append' | 'read';
  /** The item that was appended; unique in the history. */
  readonly item?: string;
  readonly startMs: number;
  readonly endMs: number;
  /** `none`: the operation reported that it had no effect. `unknown`: it may have had one. */
  readonly outcome: 'ok' | 'none' | 'unknown';
  /** The list that the operation returned: after an append, or as it was read. */
  readonly seen?: readonly string[];
}

/** Returns the violations; none if the history is linearizable. `final` has the list after the last operation. */
export function violations(
  history: readonly Operation[],
  final: ReadonlyMap<string, readonly string[]>,
): string[] {
  const found: string[] = [];
  for (const [list, items] of final) {
    const operations = history.filter((operation) => operation.list === list);
    found.push(...listViolations(operations, items).map((text) => `${list}: ${text}`));
  }
  return found;
}

function listViolations(operations: readonly Operation[], items: readonly string[]): string[] {
  const found: string[] = [];
  const positions = new Map(items.map((item, i) => [item, i]));
  if (positions.size < items.length) found.push('an item was appended twice');
  const appended = new Set(operations.map(({ item }) => item));
  for (const item of items) if (!appended.has(item)) found.push(`${item} was not appended by this history`);
  /** How many items an operation had seen, and when. */
  const points: { readonly length: number; readonly startMs: number; readonly endMs: number }[] = [];
  for (const { kind, item, outcome, seen, startMs, endMs } of operations) {
    const position = item === undefined ? undefined : positions.get(item);
    if (kind === 'append' && outcome === 'ok' && position === undefined) found.push(`${item} is lost`);
    if (outcome === 'none' && position !== undefined) found.push(`${item} was reported as not appended`);
    if (outcome !== 'ok') continue;
    const length = seen?.length ?? position! + 1;
    if (seen?.some((one, i) => one !== items[i])) found.push(`${item ?? 'a read'} saw another list`);
    if (kind === 'append' && position !== undefined && length !== position + 1)
      found.push(`${item} is at ${position}, but it was appended at ${length - 1}`);
    points.push({ length, startMs, endMs });
  }
  for (const { item, startMs } of operations) {
    const position = item === undefined ? undefined : positions.get(item);
    if (position === undefined) continue;
    if (points.some(({ length, endMs }) => length > position && endMs < startMs))
      found.push(`${item} was seen before it was appended`);
  }
  return [...found, ...orderViolations(points)];
}

/** An operation that starts after another has ended must see at least as many items. */
function orderViolations(
  points: readonly { readonly length: number; readonly startMs: number; readonly endMs: number }[],
): string[] {
  const ended = [...points].sort((a, b) => a.endMs - b.endMs);
  const found: string[] = [];
  let next = 0;
  let longest = 0;
  for (const { length, startMs } of [...points].sort((a, b) => a.startMs - b.startMs)) {
    for (; next < ended.length && ended[next]!.endMs < startMs; next++)
      longest = Math.max(longest, ended[next]!.length);
    if (length < longest) found.push(`an operation saw ${length} items after another had seen ${longest}`);
  }
  return found;
}
