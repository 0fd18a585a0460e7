/** What the page knows about a session, as a function of the events of the server. */
import type { CallDetail, PausedExecution, ServerEvent, TimelineNode } from './api.ts';

export interface SessionView {
  readonly isLoaded: boolean;
  readonly isDeleted: boolean;
  readonly runtime: string;
  readonly nodes: readonly TimelineNode[];
  readonly head: number;
  readonly details: ReadonlyMap<number, CallDetail>;
  readonly progress: { readonly fuel_consumed: number; readonly fuel_budget: number } | undefined;
  readonly paused: PausedExecution | undefined;
  /** Counts changes of files and variables. */
  readonly revision: number;
}

export const EMPTY_VIEW: SessionView = {
  isLoaded: false,
  isDeleted: false,
  runtime: '',
  nodes: [],
  head: 0,
  details: new Map(),
  progress: undefined,
  paused: undefined,
  revision: 0,
};

const BLANK: CallDetail = {
  code: '',
  output: [],
  outputTruncated: false,
  results: [],
  outcome: undefined,
  error: undefined,
};

/** An event of the server, or details that the page has requested. */
type ViewEvent = ServerEvent | { readonly type: 'reset' };

export function reduce(view: SessionView, event: ViewEvent): SessionView {
  switch (event.type) {
    case 'reset':
      return EMPTY_VIEW;
    case 'snapshot': {
      const details = new Map(view.details);
      if (event.latest !== undefined && event.detail !== undefined) details.set(event.latest, event.detail);
      const { nodes, head, runtime, paused } = event;
      const revision = view.revision + 1;
      return { ...EMPTY_VIEW, isLoaded: true, nodes, head, runtime, paused, details, revision };
    }
    case 'node': {
      const { node, head } = event;
      const isKnown = view.nodes.some(({ id }) => id === node.id);
      const nodes = isKnown
        ? view.nodes.map((one) => (one.id === node.id ? node : one))
        : [...view.nodes, node];
      const paused = node.status === 'running' || node.kind === 'rollback' ? undefined : view.paused;
      const progress = node.status === 'running' ? view.progress : undefined;
      return { ...view, nodes, head, paused, progress };
    }
    case 'removed':
      return { ...view, nodes: view.nodes.filter(({ id }) => !event.ids.includes(id)) };
    case 'output':
      return withDetail(view, event.id, (detail) => {
        const last = detail.output.at(-1);
        const isSame = last?.stream === event.stream;
        const chunk = { stream: event.stream, text: (isSame ? last.text : '') + event.text };
        return { ...detail, output: [...(isSame ? detail.output.slice(0, -1) : detail.output), chunk] };
      });
    case 'result':
      return withDetail(view, event.id, (detail) => ({
        ...detail,
        results: [...detail.results, event.result],
      }));
    case 'progress':
      return { ...view, progress: event };
    case 'detail': {
      const metadata = event.detail.outcome?.metadata;
      const { execution_id, pending, tool_calls = [] } = metadata ?? {};
      const paused =
        pending === undefined ? undefined : ({ execution_id, pending, tool_calls } as PausedExecution);
      return { ...withDetail(view, event.id, () => event.detail), progress: undefined, paused };
    }
    case 'files':
      return { ...view, revision: view.revision + 1 };
    case 'deleted':
      return { ...view, isDeleted: true };
    default:
      return view;
  }
}

function withDetail(view: SessionView, id: number, change: (detail: CallDetail) => CallDetail): SessionView {
  return { ...view, details: new Map(view.details).set(id, change(view.details.get(id) ?? BLANK)) };
}

/** The program that is running, if there is one. */
export const runningNode = ({ nodes }: SessionView) => nodes.findLast(({ status }) => status === 'running');

/** The most recent call. */
export const latestCall = ({ nodes }: SessionView) => nodes.findLast(({ kind }) => kind === 'call');

/** The call that led to the state of a step: the step itself, or the closest one before it. */
export function callOf({ nodes }: SessionView, id: number): number | undefined {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  let node = byId.get(id);
  while (node !== undefined && node.kind !== 'call')
    node = node.parent === null ? undefined : byId.get(node.parent);
  return node?.id;
}
