/** The page: chooses the session, connects the editor with the panels, and sends the actions of the user to the server. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, api, hasToken, type Info, type SessionEntry, setToken } from './api.ts';
import { Approvals } from './approvals.tsx';
import { Editor, type EditorHandle, type RunMarks } from './editor.tsx';
import { EXAMPLES, firstProgram } from './examples.ts';
import { Header } from './header.tsx';
import { Output } from './output.tsx';
import { Files, Variables } from './panels.tsx';
import { callOf, latestCall, runningNode } from './session-view.ts';
import { Splitter, useSizes } from './splitter.tsx';
import { Timeline } from './timeline.tsx';
import { useSessionEvents } from './use-session-events.ts';

const draftKey = (session: string) => `draft:${session}`;
const languageKey = (session: string) => `language:${session}`;
const sessionInAddress = () => new URLSearchParams(location.hash.slice(1)).get('session') ?? undefined;

/** Connects to the server, or asks for the token. */
export function App() {
  const [info, setInfo] = useState<Info>();
  const [problem, setProblem] = useState<string>();
  const connect = useCallback(() => {
    if (!hasToken()) return setProblem('');
    setProblem(undefined);
    api
      .info()
      .then(setInfo, (cause) =>
        setProblem(
          cause instanceof ApiError && cause.status === 401
            ? 'The token is not valid.'
            : String(cause.message),
        ),
      );
  }, []);
  useEffect(connect, []);
  if (problem !== undefined) return <TokenForm problem={problem} onSubmit={connect} />;
  return info === undefined ? <p class="empty">Connecting …</p> : <Playground info={info} />;
}

function TokenForm({ problem, onSubmit }: { problem: string; onSubmit(): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <main class="token">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          setToken(input.current!.value.trim());
          onSubmit();
        }}
      >
        <h1>Playground</h1>
        <p>Open the address printed by the server, or enter a token.</p>
        <label for="token">Token</label>
        <input id="token" ref={input} type="password" autocomplete="off" required />
        {problem !== '' && <p role="alert">{problem}</p>}
        <button type="submit" class="primary">
          Connect
        </button>
      </form>
    </main>
  );
}

function Playground({ info }: { info: Info }) {
  const [sessions, setSessions] = useState<readonly SessionEntry[]>([]);
  const [session, setSession] = useState<string>();
  const [language, setLanguage] = useState('python');
  const [selected, setSelected] = useState<number>();
  const [budget, setBudget] = useState<number>();
  const [notice, setNotice] = useState<string>();
  const { sizes, change: setSizes, style } = useSizes();
  const editor = useRef<EditorHandle>(undefined);
  const onError = useCallback((cause: unknown) => setNotice((cause as Error).message), []);
  const { view, isConnected } = useSessionEvents(session, onError);

  const refresh = useCallback(async () => setSessions(await api.sessions()), []);
  const readFile = useCallback((path: string) => api.readFile(session ?? '', path), [session]);
  const runtimeOf = (name: string) => info.languages.find((one) => one.name === name)?.runtime;

  const open = useCallback((id: string, known?: string) => {
    setSession(id);
    setSelected(undefined);
    setNotice(undefined);
    const chosen = known ?? sessionStorage.getItem(languageKey(id));
    if (chosen !== null) setLanguage(chosen);
    history.replaceState(null, '', `#session=${encodeURIComponent(id)}`);
  }, []);

  const create = useCallback(async (name: string) => {
    const id = await api.create(name);
    await refresh();
    sessionStorage.setItem(draftKey(id), firstProgram(name));
    sessionStorage.setItem(languageKey(id), name);
    open(id, name);
    return id;
  }, []);

  // Opens the session in the address, the most recent one, or a new one.
  useEffect(() => {
    const start = async () => {
      const list = await api.sessions();
      setSessions(list);
      const wanted = sessionInAddress();
      const found = list.find(({ session_id }) => session_id === wanted) ?? list[0];
      if (found === undefined) return void (await create(language));
      open(found.session_id, sessionStorage.getItem(languageKey(found.session_id)) ?? found.runtime);
    };
    start().catch(onError);
    const onHash = () => {
      const wanted = sessionInAddress();
      if (wanted !== undefined) open(wanted);
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);

  // Restores the program of the session: the draft of this tab, or the last program that ran.
  const latest = latestCall(view);
  useEffect(() => {
    if (!view.isLoaded || session === undefined) return;
    const draft = sessionStorage.getItem(draftKey(session));
    const code = draft ?? (latest && view.details.get(latest.id)?.code) ?? firstProgram(language);
    if (editor.current?.text() !== code) editor.current?.replace(code);
  }, [session, view.isLoaded]);

  // The numbers of calls in the list of sessions.
  useEffect(() => {
    if (session !== undefined) refresh().catch(onError);
  }, [view.revision]);

  const running = runningNode(view);
  const isBusy = running !== undefined;
  const shownId = selected === undefined ? latest?.id : callOf(view, selected);
  const shown = view.nodes.find(({ id }) => id === shownId);
  const detail = shownId === undefined ? undefined : view.details.get(shownId);
  const [fetched, setFetched] = useState<Map<string, typeof detail>>(new Map());
  const fetchedKey = `${session} ${shownId}`;
  const shownDetail = detail ?? fetched.get(fetchedKey);

  // Details of earlier calls are read when they are selected.
  useEffect(() => {
    if (session === undefined || shown?.kind !== 'call' || detail !== undefined || isBusy) return;
    api
      .detail(session, shown.id)
      .then((found) => setFetched((known) => new Map(known).set(fetchedKey, found ?? undefined)), onError);
  }, [fetchedKey, shown?.kind, detail === undefined, isBusy]);

  const act = (work: () => Promise<unknown>) => {
    setNotice(undefined);
    work().catch(onError);
  };

  const run = () => {
    if (session === undefined || isBusy) return;
    setSelected(undefined);
    act(async () => {
      const code = editor.current!.text();
      await api.run(session, { code, language, ...(budget !== undefined && { fuel_budget: budget }) });
    });
  };
  const stop = () => session !== undefined && act(() => api.stop(session));
  const checkpoint = () => session !== undefined && !isBusy && act(() => api.checkpoint(session));

  /** The program that led to the state of a step. */
  const codeOf = async (node: number) => {
    const call = callOf(view, node);
    if (session === undefined || call === undefined) return undefined;
    return (view.details.get(call) ?? (await api.detail(session, call)))?.code;
  };

  const chooseLanguage = (name: string) => {
    if (session === undefined) return;
    if (runtimeOf(name) === view.runtime) {
      const isPristine = EXAMPLES.some(({ code }) => code === editor.current?.text());
      setLanguage(name);
      sessionStorage.setItem(languageKey(session), name);
      if (isPristine) editor.current?.replace(firstProgram(name));
      return;
    }
    const other = sessions.find(({ runtime }) => runtime === runtimeOf(name));
    act(async () => {
      if (other === undefined) await create(name);
      else open(other.session_id, name);
    });
  };

  const openExample = (title: string) => {
    const example = EXAMPLES.find((one) => one.title === title);
    if (example === undefined || session === undefined) return;
    act(async () => {
      if (runtimeOf(example.language) === view.runtime) {
        setLanguage(example.language);
        sessionStorage.setItem(languageKey(session), example.language);
        editor.current?.replace(example.code);
      } else {
        const id = await create(example.language);
        sessionStorage.setItem(draftKey(id), example.code);
      }
      editor.current?.focus();
    });
  };

  // Shortcuts that work outside the editor too.
  const shortcuts = useRef({ run, stop, checkpoint });
  shortcuts.current = { run, stop, checkpoint };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const mod = event.ctrlKey || event.metaKey;
      const { run, stop, checkpoint } = shortcuts.current;
      if (mod && event.key === 'Enter' && !event.defaultPrevented) run();
      else if (mod && event.key === '.') stop();
      else if (mod && event.key === 's') checkpoint();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  const marks = useMemo<RunMarks | undefined>(() => {
    const metadata = shownDetail?.outcome?.metadata;
    if (metadata === undefined || selected !== undefined) return undefined;
    const error = metadata.error as { line?: unknown } | undefined;
    const line = typeof error?.line === 'number' ? error.line : metadata.stopped_at?.line;
    const fuel = metadata.fuel_profile?.lines.filter(({ file }) =>
      /^\/app\/(?:main|call-\d+)\.\w+$/.test(file),
    );
    return { fuel: fuel ?? [], errorLine: line };
  }, [shownDetail, selected]);

  const pausedParent = view.nodes.find(({ status }) => status === 'paused')?.parent;

  return (
    <>
      <Header
        info={info}
        sessions={sessions}
        session={session}
        language={language}
        examples={EXAMPLES}
        isConnected={isConnected}
        onOpen={open}
        onCreate={(name) => act(() => create(name))}
        onDelete={() =>
          act(async () => {
            await api.destroy(session!);
            const list = await api.sessions();
            setSessions(list);
            if (list[0] === undefined) await create(language);
            else open(list[0].session_id);
          })
        }
        onLanguage={chooseLanguage}
        onExample={openExample}
      />
      <main>
        <h1 class="visually-hidden">Playground</h1>
        {notice !== undefined && (
          <div class="notice" role="alert">
            <span>{notice}</span>
            <button type="button" class="icon" aria-label="Dismiss" onClick={() => setNotice(undefined)}>
              ×
            </button>
          </div>
        )}
        {view.isDeleted && (
          <div class="notice" role="alert">
            The session was deleted. Choose or create another one.
          </div>
        )}
        <div class="columns" style={style}>
          <div class="work">
            <section class="panel program" aria-labelledby="program-title">
              <header>
                <h2 id="program-title">Program</h2>
                <BudgetSelect max={info.max_fuel_budget} value={budget} onChange={setBudget} />
                {isBusy ? (
                  <button type="button" class="danger run" onClick={stop} title="Ctrl+. or Cmd+.">
                    <span aria-hidden="true">■ </span>Stop
                  </button>
                ) : (
                  <button
                    type="button"
                    class="primary run"
                    disabled={!view.isLoaded || view.paused !== undefined}
                    onClick={run}
                    title="Ctrl+Enter or Cmd+Enter"
                  >
                    <span aria-hidden="true">▶ </span>Run
                  </button>
                )}
              </header>
              <Editor
                language={language}
                marks={marks}
                handle={editor}
                onChange={(text) => session && sessionStorage.setItem(draftKey(session), text)}
                onRun={run}
                onStop={stop}
              />
              {marks !== undefined && marks.fuel.length > 0 && <FuelLegend />}
            </section>
            {view.paused && session && (
              <Approvals
                paused={view.paused}
                onResolve={(resolution) =>
                  act(() => api.resume(session, view.paused!.execution_id, [resolution]))
                }
                onDiscard={() =>
                  typeof pausedParent === 'number' && act(() => api.rollback(session, pausedParent))
                }
              />
            )}
            <Splitter axis="y" before="program" after="output" sizes={sizes} onChange={setSizes} />
            <Output
              readFile={readFile}
              node={shown}
              detail={shownDetail}
              progress={view.progress}
              isLatest={selected === undefined || shownId === undefined}
              editor={{
                onFix: ({ line, word, replacement }) => {
                  if (editor.current?.replaceOnLine(line, word, replacement)) editor.current.focus();
                  else setNotice(`Line ${line} no longer contains ${word}.`);
                },
                onInsert: (code) => editor.current?.insert(code),
                onEdit: (code) => {
                  editor.current?.replace(code);
                  setSelected(undefined);
                  editor.current?.focus();
                },
              }}
            />
          </div>
          <Splitter axis="x" before="work" after="side" sizes={sizes} onChange={setSizes} />
          <aside class="side" aria-label="Session">
            <Timeline
              nodes={view.nodes}
              head={view.head}
              selected={selected}
              isBusy={isBusy}
              onSelect={(id) => setSelected(id === selected ? undefined : id)}
              onRollback={(node) => act(() => api.rollback(session!, node))}
              onFork={(node) =>
                act(async () => {
                  const id = await api.fork(session!, node);
                  sessionStorage.setItem(draftKey(id), (await codeOf(node)) ?? editor.current!.text());
                  await refresh();
                  open(id, language);
                })
              }
              onOpenSession={open}
              onCheckpoint={checkpoint}
            />
            {session && view.isLoaded && (
              <>
                <Splitter axis="y" before="timeline" after="variables" sizes={sizes} onChange={setSizes} />
                <Variables session={session} revision={view.revision} onError={onError} />
                <Splitter axis="y" before="variables" after="files" sizes={sizes} onChange={setSizes} />
                <Files session={session} revision={view.revision} isBusy={isBusy} onError={onError} />
              </>
            )}
          </aside>
        </div>
      </main>
    </>
  );
}

/** What the colours beside the lines of the program mean; the bounds are those of the editor. */
function FuelLegend() {
  return (
    <p class="legend note">
      Fuel of each line:
      <span class="fuel-bar" /> up to 15%
      <span class="fuel-bar warm" /> up to 50%
      <span class="fuel-bar hot" /> more
    </p>
  );
}

const BUDGETS = [
  [undefined, 'Default fuel'],
  [100e6, '100M'],
  [1e9, '1B'],
  [10e9, '10B'],
  [100e9, '100B'],
] as const;

function BudgetSelect(props: {
  max: number;
  value: number | undefined;
  onChange(value: number | undefined): void;
}) {
  return (
    <label class="field">
      <span class="visually-hidden">Fuel budget</span>
      <select
        value={String(props.value ?? '')}
        onChange={({ currentTarget }) =>
          props.onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value))
        }
      >
        {BUDGETS.filter(([fuel]) => (fuel ?? 0) <= props.max).map(([fuel, text]) => (
          <option key={text} value={String(fuel ?? '')}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
