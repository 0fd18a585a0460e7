/**
 * The session of the result: its timeline with undo, and its files. They are read when a person asks for them, because a host may
 * ask for permission for each call of a tool.
 */
import { useState } from 'preact/hooks';
import { workspaceUri } from '../../packages/core/src/model-text/workspace-uri.ts';
import type { FileEntry, TimelineNode } from '../api.ts';
import { FolderList, toTree } from '../panels.tsx';
import { Timeline } from '../timeline.tsx';
import type { Host } from './host.ts';

interface SessionInfo {
  readonly calls: number;
  readonly files: readonly FileEntry[];
  readonly files_total: number;
  readonly checkpoints: readonly { readonly name: string; readonly created_at: string }[];
}

/** Steps that are no checkpoints. */
const BEFORE_LAST_CALL = 1;
const LAST_CALL = 2;
const FIRST_CHECKPOINT = 3;

/** What a person has done in the panel since the last call. */
interface Done {
  /** The step that the session was returned to. */
  readonly restored?: number;
  /** Checkpoints of the state after the last call. */
  readonly saved: readonly string[];
}
const NOTHING: Done = { saved: [] };

/** The steps that the session can return to, in order: the server keeps checkpoints and the state before the last call. */
function stepsOf({ checkpoints, calls }: SessionInfo, { restored, saved }: Done): TimelineNode[] {
  const step = (id: number, rest: Partial<TimelineNode>): TimelineNode => ({
    ...{ id, parent: null, created_at: '', kind: 'checkpoint', label: '', status: 'ok', checkpoint: '' },
    ...rest,
  });
  const all = [...checkpoints]
    .sort((a, b) => a.created_at.localeCompare(b.created_at))
    .map(({ name, created_at }, i) => step(FIRST_CHECKPOINT + i, { label: name, created_at }));
  const before = step(BEFORE_LAST_CALL, { kind: 'start', label: 'Before the last call' });
  const last = step(LAST_CALL, { kind: 'call', label: `Last call (number ${calls})` });
  // What was undone cannot be undone again.
  const current = calls === 0 ? [] : restored === undefined ? [before, last] : [];
  const undone = restored === BEFORE_LAST_CALL ? [before] : [];
  const isNew = ({ label }: TimelineNode) => saved.includes(label);
  const nodes = [...all.filter((one) => !isNew(one)), ...current, ...undone, ...all.filter(isNew)];
  return nodes.map((node, i) => ({ ...node, parent: nodes[i - 1]?.id ?? null }));
}

interface Notice {
  readonly text: string;
  readonly isError: boolean;
}

/** Actions of a person, one at a time, and what they led to. */
function useActions() {
  const [isBusy, setBusy] = useState(false);
  const [notice, setNotice] = useState<Notice>();
  const act = async (work: () => Promise<string | undefined>) => {
    setBusy(true);
    setNotice(undefined);
    try {
      const text = await work();
      if (text !== undefined) setNotice({ text, isError: false });
    } catch (cause) {
      setNotice({ text: (cause as Error).message, isError: true });
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, notice, act };
}

/** What is known about the session, and the functions that read and change it. */
function useSession(host: Host, session: string) {
  const [info, setInfo] = useState<SessionInfo>();
  const [done, setDone] = useState(NOTHING);
  const call = (name: string, args: object) => host.callTool(name, { session_id: session, ...args });
  const refresh = async (): Promise<{ readonly hasNewCalls: boolean }> => {
    const found = (await call('get_workspace_info', {})) as unknown as SessionInfo;
    setInfo(found);
    const hasNewCalls = found.calls !== info?.calls;
    if (hasNewCalls) setDone(NOTHING);
    return { hasNewCalls };
  };
  const rollback = async ({ id, label }: TimelineNode): Promise<string> => {
    const isUndo = id === BEFORE_LAST_CALL;
    // The last call must be the one that the person has seen.
    if (isUndo && (await refresh()).hasNewCalls)
      throw new Error(
        'The session has had another call since, so nothing was undone. Look at the steps again.',
      );
    await call('rollback_session', isUndo ? {} : { name: label });
    const fact = isUndo
      ? `The last call of session ${session} was undone.`
      : `Session ${session} is as it was at checkpoint ${label}.`;
    tellModel(host, `${fact} A person did this in the app.`);
    await refresh();
    setDone({ ...NOTHING, restored: id });
    return fact;
  };
  const checkpoint = async (): Promise<string> => {
    const name = String((await call('checkpoint_session', {}))['name']);
    await refresh();
    setDone(({ saved, ...rest }) => ({ ...rest, saved: [...saved, name] }));
    return `Saved checkpoint ${name}.`;
  };
  const steps = info === undefined ? [] : stepsOf(info, done);
  const head = done.restored ?? steps.at(-1)?.id ?? 0;
  return { info, steps, head, refresh, rollback, checkpoint };
}

export function SessionPanel({ host, session }: { host: Host; session: string }) {
  const { info, steps, head, refresh, rollback, checkpoint } = useSession(host, session);
  const { isBusy, notice, act } = useActions();
  const [selected, setSelected] = useState<number>();
  if (host.capabilities.serverTools === undefined)
    return (
      <p class="note">
        This host does not let apps call tools. To undo, ask the model to call rollback_session.
      </p>
    );
  return (
    <>
      {notice && (
        <p class={notice.isError ? 'notice' : 'note'} role={notice.isError ? 'alert' : 'status'}>
          {notice.text}
        </p>
      )}
      {info === undefined ? (
        <button
          type="button"
          class="small open"
          disabled={isBusy}
          onClick={() => act(() => refresh().then(() => undefined))}
        >
          Timeline and files of {session}
        </button>
      ) : (
        <>
          <Timeline
            nodes={steps}
            head={head}
            selected={selected}
            isBusy={isBusy}
            onSelect={(id) => setSelected(id === selected ? undefined : id)}
            onRollback={(id) => {
              setSelected(undefined);
              void act(() => rollback(steps.find((node) => node.id === id)!));
            }}
            onCheckpoint={() => act(checkpoint)}
          />
          <Files host={host} session={session} info={info} onAct={act} />
        </>
      )}
    </>
  );
}

interface FilesProps {
  readonly host: Host;
  readonly session: string;
  readonly info: SessionInfo;
  onAct(work: () => Promise<undefined>): Promise<void>;
}

function Files({ host, session, info: { files, files_total }, onAct }: FilesProps) {
  const download = (path: string) =>
    onAct(async () => {
      const link = { type: 'resource_link', uri: workspaceUri(session, path), name: path };
      const { isError } = await host.request<{ isError?: boolean }>('ui/download-file', { contents: [link] });
      if (isError === true) throw new Error('The host did not download the file.');
      return undefined;
    });
  return (
    <section class="panel files" aria-labelledby="files-title">
      <header>
        <h2 id="files-title">Files</h2>
      </header>
      {files.length > 0 ? (
        <FolderList
          folder={toTree(files)}
          isBusy={false}
          onDownload={host.capabilities.downloadFile && download}
        />
      ) : (
        <p class="empty">The session has no files.</p>
      )}
      {files_total > files.length && (
        <p class="note more">
          The first {files.length} of {files_total} files.
        </p>
      )}
    </section>
  );
}

/** Tells the model what has happened without it. Hosts that cannot do so have no such request. */
function tellModel(host: Host, text: string): void {
  if (host.capabilities.updateModelContext === undefined) return;
  host.request('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => {});
}
