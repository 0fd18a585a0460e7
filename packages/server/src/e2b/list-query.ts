/** The query of a list of sandboxes: filters, order and pages. */
import { HttpError } from '../server/http-error.ts';
import type { SandboxRecord } from './sandbox-records.ts';

const MAX_PAGE = 100;

interface ListQuery {
  readonly metadata: readonly (readonly [string, string])[];
  readonly states: readonly string[] | undefined;
  readonly template: string | undefined;
  readonly startedAfter: number | undefined;
  readonly isAscending: boolean;
  readonly limit: number;
  /** The key of the last sandbox of the previous page. */
  readonly after: string | undefined;
}

/** Places a record in the order of a list. */
const keyOf = ({ started_at, sandbox_id }: SandboxRecord) => `${started_at} ${sandbox_id}`;

export function listQuery(query: URLSearchParams): ListQuery {
  const limit = Number(query.get('limit') ?? MAX_PAGE);
  if (!Number.isInteger(limit) || limit < 1)
    throw new HttpError(400, 'limit must be a whole number of at least 1');
  const startedAfter = query.get('startedAfter');
  const token = query.get('nextToken');
  return {
    metadata: metadataPairs(query.get('metadata') ?? ''),
    states: query.get('state')?.split(','),
    template: query.get('template') ?? undefined,
    startedAfter: startedAfter === null ? undefined : Date.parse(startedAfter),
    isAscending: query.get('order') === 'asc',
    limit: Math.min(limit, MAX_PAGE),
    // biome-ignore lint/plugin: the query of a request, at most 16 KiB
    after: token === null ? undefined : Buffer.from(token, 'base64url').toString(),
  };
}

/** SDKs encode names and values, then the pairs. */
function metadataPairs(text: string): (readonly [string, string])[] {
  try {
    return [...new URLSearchParams(text)].map(
      ([name, value]) => [decodeURIComponent(name), decodeURIComponent(value)] as const,
    );
  } catch {
    throw new HttpError(400, 'metadata is not encoded correctly');
  }
}

export function isWanted(record: SandboxRecord, wanted: ListQuery): boolean {
  const { metadata, states, template, startedAfter } = wanted;
  return (
    metadata.every(
      ([name, value]) => Object.hasOwn(record.metadata, name) && record.metadata[name] === value,
    ) &&
    (states?.includes(record.state) ?? true) &&
    (template === undefined || record.template === template) &&
    (startedAfter === undefined || Date.parse(record.started_at) >= startedAfter)
  );
}

/** One page of records that are sorted latest first, and the header that leads to the next. */
export function listedPage(
  latestFirst: readonly SandboxRecord[],
  { isAscending, limit, after }: ListQuery,
): { readonly page: SandboxRecord[]; readonly headers: Record<string, string> } {
  const sorted = isAscending ? [...latestFirst].reverse() : latestFirst;
  const follows = (record: SandboxRecord) =>
    after === undefined || (isAscending ? keyOf(record) > after : keyOf(record) < after);
  const rest = sorted.filter(follows);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  if (last === undefined || rest.length === page.length) return { page, headers: {} };
  // biome-ignore lint/plugin: the date and the id of a sandbox
  return { page, headers: { 'x-next-token': Buffer.from(keyOf(last)).toString('base64url') } };
}
