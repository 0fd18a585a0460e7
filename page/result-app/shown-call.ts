/** Converts the result of `execute_code` or `resume_execution` into what the panels of the playground show. */
import type { EncodedResult } from '../../packages/core/src/results/encoded-result.ts';
import type { TimelineNode } from '../api.ts';
import type { ShownCall, ShownOutcome } from '../output.tsx';
import { type Host, type ToolCallResult, textOf } from './host.ts';

/** The structured content of a result. A server of another version, or another host, may leave out any field. */
interface ExecutionOutput {
  readonly session_id?: string;
  readonly success?: boolean;
  readonly state?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly result?: unknown;
  readonly duration_ms?: number;
  readonly trap_reason?: string | null;
  readonly files_changed?: readonly { readonly path: string; readonly change: string }[];
  readonly results?: readonly { readonly id: string; readonly mime: string; readonly uri: string }[];
  readonly error_guidance?: ShownOutcome['metadata']['error_guidance'] | null;
  readonly stopped_at?: ShownOutcome['metadata']['stopped_at'] | null;
  readonly fuel_analysis?: ShownOutcome['metadata']['fuel_analysis'] | null;
  readonly execution_id?: string;
}

export const outputOf = ({ structuredContent, isError }: ToolCallResult): ExecutionOutput | undefined =>
  isError === true || typeof structuredContent?.['session_id'] !== 'string' ? undefined : structuredContent;

/** How the call ended, as a step of a timeline. */
export function nodeOf(output: ExecutionOutput): Pick<TimelineNode, 'kind' | 'status' | 'duration_ms'> {
  const { state, success, trap_reason, duration_ms } = output;
  const ended = success === true ? 'ok' : trap_reason === 'cancelled' ? 'stopped' : 'failed';
  return {
    kind: 'call',
    status: state === 'paused' ? 'paused' : ended,
    ...(duration_ms !== undefined && { duration_ms }),
  };
}

/** The call with its output and with the results that have been read. */
export function callOf(code: string, output: ExecutionOutput, read: readonly EncodedResult[]): ShownCall {
  const { stdout = '', stderr = '', result, files_changed = [] } = output;
  const paths = (wanted: string) =>
    files_changed.filter(({ change }) => change === wanted).map(({ path }) => path);
  const streams = [
    { stream: 'stdout', text: stdout },
    { stream: 'stderr', text: stderr },
  ] as const;
  const hasValue = result !== undefined && !read.some(({ is_main_result }) => is_main_result);
  return {
    code,
    output: streams.filter(({ text }) => text !== ''),
    outputTruncated: false,
    results: [...read, ...(hasValue ? [plainValue(result)] : [])],
    error: undefined,
    outcome: {
      files_created: paths('created'),
      files_modified: paths('modified'),
      files_deleted: paths('deleted'),
      metadata: {
        error_guidance: output.error_guidance ?? undefined,
        stopped_at: output.stopped_at ?? undefined,
        fuel_analysis: output.fuel_analysis ?? undefined,
        error: undefined,
      },
    },
  };
}

/** The value of the last expression that has no other form. */
function plainValue(value: unknown): EncodedResult {
  const json = JSON.stringify(value, null, 2);
  return { id: 'value', is_main_result: true, mime: 'text/plain', text: json, size_bytes: json.length };
}

/** A result without structured content: an error of the tool, or images in place of it. */
export function plainCallOf(result: ToolCallResult): ShownCall {
  const images = (result.content ?? []).flatMap(({ type, data, mimeType }, i) =>
    type === 'image' && typeof data === 'string' ? [imageOf(`image${i}`, data, mimeType)] : [],
  );
  const text = textOf(result);
  const stream = result.isError === true ? ('stderr' as const) : ('stdout' as const);
  return {
    code: '',
    output: text === '' ? [] : [{ stream, text }],
    outputTruncated: false,
    results: images,
    error: undefined,
    outcome: undefined,
  };
}

function imageOf(id: string, data: string, mimeType: unknown): EncodedResult {
  const form = mimeType === 'image/jpeg' ? { jpeg: data } : { png: data };
  return { id, is_main_result: false, mime: String(mimeType), size_bytes: data.length, ...form };
}

/** Reads what the program displayed. A result that cannot be read is replaced by the reason. */
export async function readResults(
  host: Host,
  { results = [] }: ExecutionOutput,
  receive: (read: readonly EncodedResult[]) => void,
): Promise<void> {
  const read: EncodedResult[] = [];
  for (const { id, mime, uri } of results) {
    const missing = (reason: string): EncodedResult => ({
      ...{ id, mime, is_main_result: false, size_bytes: 0 },
      text: `${id} (${mime}) is not shown: ${reason}`,
    });
    if (host.capabilities.serverResources === undefined) {
      read.push(missing('this host does not let apps read resources.'));
      continue;
    }
    try {
      const { text = '' } = await host.readResource(`${uri}.json`);
      read.push({ ...(JSON.parse(text) as EncodedResult), id });
    } catch (cause) {
      read.push(missing((cause as Error).message));
    }
    receive([...read]);
  }
  receive(read);
}
