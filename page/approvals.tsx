/** Tool calls that are waiting for a person, as cards to approve, deny or answer. */
import { useState } from 'preact/hooks';
import { escapeControls } from '../packages/core/src/analysis/escape-controls.ts';
import type { PausedExecution } from './api.ts';

type Pending = PausedExecution['pending'][number];

interface Props {
  readonly paused: PausedExecution;
  onResolve(resolution: object): void;
  onDiscard(): void;
}

export function Approvals({ paused, onResolve, onDiscard }: Props) {
  return (
    <section class="approvals" aria-label="Tool calls waiting for a decision">
      {paused.pending.map((call) => (
        <ApprovalCard
          key={call.id}
          call={call}
          wasAnswered={statusOf(paused, call) !== 'pending'}
          onResolve={onResolve}
        />
      ))}
      <button type="button" class="small quiet" onClick={onDiscard}>
        Discard the paused program
      </button>
    </section>
  );
}

const statusOf = ({ tool_calls }: PausedExecution, { seq }: Pending) =>
  tool_calls.find((record) => record.seq === seq)?.status ?? 'pending';

/** Arguments come from the program, so characters that hide or reorder text are escaped. */
const visibleJson = (value: unknown) =>
  JSON.stringify(value, null, 2).split('\n').map(escapeControls).join('\n');

interface CardProps {
  readonly call: Pending;
  /** The answer was lost, because the resumed program was rolled back. */
  readonly wasAnswered: boolean;
  onResolve(resolution: object): void;
}

function ApprovalCard({ call, wasAnswered, onResolve }: CardProps) {
  const { id, name, reason, payload } = call;
  return (
    <article class="card approval" aria-label={`Call to ${name}`}>
      <header>
        <span class="badge warn">{reason === 'approval' ? 'needs approval' : 'waiting for an answer'}</span>
        <h3>{escapeControls(name)}</h3>
      </header>
      <pre class="text">{visibleJson(call.arguments)}</pre>
      {payload !== undefined && <pre class="text">{visibleJson(payload)}</pre>}
      {wasAnswered && (
        <p>
          The call was answered before, but the program was rolled back. If the call was approved, the tool
          may already have run.
        </p>
      )}
      {reason === 'approval' ? (
        <div class="actions">
          <button type="button" class="primary" onClick={() => onResolve({ id, approve: true })}>
            Approve
          </button>
          <button type="button" class="danger" onClick={() => onResolve({ id, deny: true })}>
            Deny
          </button>
        </div>
      ) : (
        <Answer onAnswer={(value) => onResolve({ id, value })} />
      )}
    </article>
  );
}

function Answer({ onAnswer }: { onAnswer(value: unknown): void }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    try {
      onAnswer(JSON.parse(text));
    } catch {
      setProblem('Enter the answer as JSON, such as "text" or {"ok": true}.');
    }
  };
  return (
    <form class="actions" onSubmit={submit}>
      <input
        aria-label="Answer as JSON"
        value={text}
        placeholder="Answer as JSON"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="primary">
        Answer
      </button>
      {problem !== '' && <p class="note">{problem}</p>}
    </form>
  );
}
