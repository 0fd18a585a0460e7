/** The timeline of a session as a graph: one row per step, one lane per branch. */
import { useEffect, useRef } from 'preact/hooks';
import { formatDuration, formatFuel } from '../packages/core/src/quantities.ts';
import type { TimelineNode } from './api.ts';
import { layOut, type Row } from './timeline-layout.ts';

const ROW = 34;
const LANE = 16;

const KIND_TEXT: Readonly<Record<TimelineNode['kind'], string>> = {
  start: 'Start',
  call: 'Call',
  files: 'Files',
  checkpoint: 'Checkpoint',
  fork: 'Branch',
  rollback: 'Rollback',
};

interface Props {
  readonly nodes: readonly TimelineNode[];
  readonly head: number;
  readonly selected: number | undefined;
  readonly isBusy: boolean;
  onSelect(id: number): void;
  onRollback(id: number): void;
  /** Absent where no sessions can be opened. */
  onFork?(id: number): void;
  onOpenSession?(id: string): void;
  onCheckpoint(): void;
}

export function Timeline(props: Props) {
  const { nodes, head, selected, isBusy } = props;
  const rows = layOut(nodes);
  const width = (Math.max(0, ...rows.map(({ lane }) => lane)) + 1) * LANE + 6;
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [nodes.length]);
  const chosen = nodes.find(({ id }) => id === selected);
  return (
    <section class="panel timeline" aria-labelledby="timeline-title">
      <header>
        <h2 id="timeline-title">Timeline</h2>
        <button type="button" class="small" disabled={isBusy} onClick={props.onCheckpoint}>
          Checkpoint
        </button>
      </header>
      <div class="rows" ref={scroller}>
        <Graph rows={rows} width={width} head={head} />
        <ol>
          {rows.map(({ node }) => (
            <li key={node.id} style={{ height: `${ROW}px`, paddingLeft: `${width}px` }}>
              <button
                type="button"
                class="step"
                aria-pressed={node.id === selected}
                aria-current={node.id === head ? 'step' : undefined}
                data-node={node.id}
                data-kind={node.kind}
                data-status={node.status}
                onClick={() => props.onSelect(node.id)}
              >
                <span class="visually-hidden">{KIND_TEXT[node.kind]}: </span>
                <span class="label">{node.label}</span>
                <StepFacts node={node} isHead={node.id === head} />
              </button>
            </li>
          ))}
        </ol>
      </div>
      {chosen && <StepActions {...props} node={chosen} />}
    </section>
  );
}

function StepFacts({ node, isHead }: { node: TimelineNode; isHead: boolean }) {
  const { status, fuel_consumed, duration_ms } = node;
  const facts = fuel_consumed === undefined ? '' : formatFuel(fuel_consumed);
  return (
    <span class="facts">
      {status === 'running' && <span class="badge">running</span>}
      {status === 'paused' && <span class="badge warn">paused</span>}
      {status === 'failed' && <span class="badge danger">failed</span>}
      {status === 'stopped' && <span class="badge">stopped</span>}
      <span title={duration_ms === undefined ? undefined : formatDuration(duration_ms)}>{facts}</span>
      {isHead && <span class="badge accent">now</span>}
    </span>
  );
}

function StepActions({
  node,
  head,
  isBusy,
  onRollback,
  onFork,
  onOpenSession,
}: Props & { node: TimelineNode }) {
  const { id, forked_session } = node;
  const hasState = node.checkpoint !== undefined;
  return (
    <footer class="actions">
      {forked_session === undefined ? (
        <>
          <button
            type="button"
            class="small"
            disabled={isBusy || !hasState || id === head}
            onClick={() => onRollback(id)}
          >
            Go back to this step
          </button>
          {onFork && (
            <button type="button" class="small" disabled={isBusy || !hasState} onClick={() => onFork(id)}>
              Branch from this step
            </button>
          )}
          {!hasState && node.status !== 'running' && (
            <p class="note">The state of this step is not available.</p>
          )}
        </>
      ) : (
        <button type="button" class="small" onClick={() => onOpenSession?.(forked_session)}>
          Open {forked_session}
        </button>
      )}
    </footer>
  );
}

function Graph({ rows, width, head }: { rows: readonly Row[]; width: number; head: number }) {
  const x = (lane: number) => lane * LANE + 11;
  const y = (row: number) => row * ROW + ROW / 2;
  return (
    <svg class="graph" width={width} height={rows.length * ROW} aria-hidden="true">
      {rows.map(({ node, lane, parentRow }, row) => {
        if (parentRow === undefined) return null;
        const from = rows[parentRow]!.lane;
        const bend = y(parentRow) + ROW / 2;
        const path =
          from === lane
            ? `M${x(from)} ${y(parentRow)}V${y(row)}`
            : `M${x(from)} ${y(parentRow)}C${x(from)} ${bend} ${x(lane)} ${bend - 6} ${x(lane)} ${bend + 8}V${y(row)}`;
        return <path key={node.id} d={path} class={`lane-${lane % 4}`} />;
      })}
      {rows.map(({ node, lane }, row) => (
        <circle
          key={node.id}
          cx={x(lane)}
          cy={y(row)}
          r={node.id === head ? 6 : 4.5}
          class={`dot ${node.kind} ${node.status} lane-${lane % 4}`}
        />
      ))}
    </svg>
  );
}
