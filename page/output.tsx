/** The output of a call: what it printed and displayed, how it ended, and the fuel that it used. */
import { useEffect, useRef } from 'preact/hooks';
import { formatBytes, formatDuration, formatFuel } from '../packages/core/src/quantities.ts';
import type { CallDetail, TimelineNode } from './api.ts';
import { Guidance } from './guidance.tsx';
import { type ReadFile, Result } from './results.tsx';

type Outcome = NonNullable<CallDetail['outcome']>;

/** What the panel shows of how a call ended. */
export type ShownOutcome = Pick<Outcome, 'files_created' | 'files_modified' | 'files_deleted'> & {
  readonly memory_used_bytes?: number;
  readonly metadata: Pick<Outcome['metadata'], 'error_guidance' | 'stopped_at' | 'error' | 'fuel_analysis'>;
};

export interface ShownCall extends Omit<CallDetail, 'outcome'> {
  readonly outcome: ShownOutcome | undefined;
}

type ShownNode = Pick<TimelineNode, 'kind' | 'status' | 'duration_ms'>;

interface Props {
  readonly node: ShownNode | undefined;
  readonly detail: ShownCall | undefined;
  readonly progress?: { readonly fuel_consumed: number; readonly fuel_budget: number } | undefined;
  readonly isLatest: boolean;
  readonly readFile: ReadFile;
  /** Absent where there is no editor. */
  readonly editor?: {
    onFix(fix: { line: number; word: string; replacement: string }): void;
    onInsert(code: string): void;
    onEdit(code: string): void;
  };
}

export function Output({ node, detail, progress, isLatest, readFile, editor }: Props) {
  const isRunning = node?.status === 'running';
  const outcome = detail?.outcome;
  // The cards above the output answer a paused program; its guidance is for other clients.
  const guided = node?.status === 'paused' ? undefined : outcome;
  const hasGuidance = guided?.metadata.error_guidance !== undefined;
  const scroller = useScroll(isRunning, hasGuidance, detail);
  return (
    <section class="panel output" aria-labelledby="output-title">
      <header>
        <h2 id="output-title">Output</h2>
        <RunStatus node={node} detail={detail} />
        {!isLatest && detail && editor && (
          <button type="button" class="small" onClick={() => editor.onEdit(detail.code)}>
            Edit this code
          </button>
        )}
      </header>
      <FuelGauge node={node} detail={detail} progress={isRunning ? progress : undefined} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label="Output of the program" ref={scroller}>
        {detail === undefined && <Hint node={node} />}
        {detail && !isLatest && <pre class="text past">{detail.code}</pre>}
        {guided && <Guidance outcome={guided} {...editor} />}
        {detail && <Streams output={detail.output} isFolded={hasGuidance} />}
        {detail?.outputTruncated && <p class="note">The rest of the output is not shown.</p>}
        {detail?.results.map((result) => (
          <Result key={result.id} result={result} readFile={readFile} />
        ))}
        {detail?.error && (
          <section class="card guidance" aria-label="The program could not run">
            <header>
              <span class="badge danger">{detail.error.code}</span>
              <h3>{detail.error.message}</h3>
            </header>
          </section>
        )}
        {outcome && <ChangedFiles outcome={outcome} />}
      </section>
    </section>
  );
}

/** Follows the text of a running program; shows what it displays, and the guidance when it has failed, from the top. */
function useScroll(isRunning: boolean, hasGuidance: boolean, detail: ShownCall | undefined) {
  const scroller = useRef<HTMLElement>(null);
  const shown = detail?.results.length ?? 0;
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const result = element.querySelector<HTMLElement>('.result');
    if (hasGuidance) element.scrollTop = 0;
    else if (result !== null) element.scrollTop = result.offsetTop - element.offsetTop - 14;
    else if (isRunning) element.scrollTop = element.scrollHeight;
  }, [isRunning ? detail : undefined, hasGuidance, shown > 0]);
  return scroller;
}

/** What a program printed. The last part of its error output repeats the error that the guidance explains, and is folded. */
function Streams({ output, isFolded }: { output: CallDetail['output']; isFolded: boolean }) {
  const last = output.at(-1);
  const folded = isFolded && last?.stream === 'stderr' ? last : undefined;
  const shown = folded === undefined ? output : output.slice(0, -1);
  return (
    <>
      {shown.length > 0 && (
        <pre class="stream" role="log">
          {shown.map(({ stream, text }, i) => (
            <span key={`${i}`} class={stream}>
              {text}
            </span>
          ))}
        </pre>
      )}
      {folded && (
        <details class="trace">
          <summary>Error output</summary>
          <pre class="stream">
            <span class="stderr">{folded.text}</span>
          </pre>
        </details>
      )}
    </>
  );
}

function Hint({ node }: { node: ShownNode | undefined }) {
  const isGone = node?.kind === 'call' && node.status !== 'running';
  return (
    <p class="empty">
      {isGone ? 'The output of this call is no longer available.' : 'Run a program to see its output here.'}
    </p>
  );
}

const STATUS_TEXT: Readonly<Record<TimelineNode['status'], string>> = {
  running: 'Running …',
  paused: 'Paused',
  ok: 'Finished',
  failed: 'Failed',
  stopped: 'Stopped',
};

function RunStatus({ node, detail }: Pick<Props, 'node' | 'detail'>) {
  if (node?.kind !== 'call') return <span class="status" role="status" />;
  const { status, duration_ms } = node;
  const outcome = detail?.outcome;
  return (
    <span class="status" role="status" data-status={status}>
      <span class={`led ${status}`} aria-hidden="true" />
      {STATUS_TEXT[status]}
      {duration_ms !== undefined && status !== 'running' && ` after ${formatDuration(duration_ms)}`}
      {outcome?.memory_used_bytes !== undefined && (
        <span class="note"> · {formatBytes(outcome.memory_used_bytes)}</span>
      )}
    </span>
  );
}

/** Nothing is efficient about a program that has failed for another reason. */
const QUIET: ReadonlySet<string> = new Set(['efficient', 'moderate']);

function FuelGauge({ node, detail, progress }: Pick<Props, 'node' | 'detail' | 'progress'>) {
  const analysis = detail?.outcome?.metadata.fuel_analysis;
  const used = progress?.fuel_consumed ?? analysis?.consumed;
  const budget = progress?.fuel_budget ?? analysis?.budget;
  if (used === undefined || budget === undefined) return null;
  const percent = Math.min(100, (used / budget) * 100);
  const isFailed = node?.status === 'failed' || node?.status === 'stopped';
  const judged = analysis?.status ?? '';
  const status = progress !== undefined ? 'running' : isFailed && QUIET.has(judged) ? '' : judged;
  const hasGuidance = isFailed && detail?.outcome?.metadata.error_guidance !== undefined;
  const text = `${formatFuel(used)} of ${formatFuel(budget)} fuel`;
  return (
    <div class="gauge" data-status={status}>
      {/* biome-ignore lint/a11y/useSemanticElements: the parts of <meter> cannot be styled in all browsers */}
      <div
        class="track"
        role="meter"
        aria-label="Fuel"
        aria-valuenow={Math.round(percent)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={status === '' ? text : `${text}, ${status}`}
      >
        <div class="fill" style={{ width: `${Math.max(percent, used > 0 ? 0.6 : 0)}%` }} />
      </div>
      <span class="text">{text}</span>
      {status !== '' && <span class={`badge fuel-${status}`}>{status}</span>}
      {analysis?.recommendation && progress === undefined && !hasGuidance && (
        <p class="note">{analysis.recommendation}</p>
      )}
    </div>
  );
}

function ChangedFiles({ outcome }: { outcome: ShownOutcome }) {
  const { files_created, files_modified, files_deleted } = outcome;
  const parts = [
    ['Created', files_created],
    ['Changed', files_modified],
    ['Deleted', files_deleted],
  ] as const;
  const shown = parts.filter(([, paths]) => paths.length > 0);
  if (shown.length === 0) return null;
  return (
    <p class="note changes">
      {shown.map(([what, paths]) => (
        <span key={what}>
          {what}: {paths.slice(0, 5).join(', ')}
          {paths.length > 5 && ` and ${paths.length - 5} more`}
        </span>
      ))}
    </p>
  );
}
