/** The app: the result of one call, and the session that it ran in. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import { workspaceUri } from '../../packages/core/src/model-text/workspace-uri.ts';
import type { EncodedResult } from '../../packages/core/src/results/encoded-result.ts';
import { Output } from '../output.tsx';
import { Host, type ToolCallResult } from './host.ts';
import { SessionPanel } from './session-panel.tsx';
import { callOf, nodeOf, outputOf, plainCallOf, readResults } from './shown-call.ts';
import { applyTheme } from './theme.ts';

/** The session id of calls without a session. They have no state to undo. */
const DEFAULT_SESSION = 'default';

export function App() {
  const [host, setHost] = useState<Host>();
  const [result, setResult] = useState<ToolCallResult>();
  const [code, setCode] = useState('');
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const connected = new Host({
      onContext: applyTheme,
      onInput: (args) => setCode(String(args['code'] ?? '')),
      onResult: setResult,
      onCancelled: (reason) => setProblem(`The call was cancelled${reason ? `: ${reason}` : ''}.`),
    });
    connected.connect().then(
      () => {
        setHost(connected);
        reportSize(connected);
      },
      (cause) => setProblem(`The app could not be started: ${(cause as Error).message}`),
    );
  }, []);
  if (problem !== undefined) return <p class="empty">{problem}</p>;
  if (host === undefined || result === undefined) return <p class="empty">Waiting for the result …</p>;
  return <Shown host={host} result={result} code={code} />;
}

function Shown({ host, result, code }: { host: Host; result: ToolCallResult; code: string }) {
  const [read, setRead] = useState<readonly EncodedResult[]>([]);
  const output = outputOf(result);
  const session = output?.session_id ?? DEFAULT_SESSION;
  useEffect(() => {
    let isCurrent = true;
    setRead([]);
    if (output !== undefined) void readResults(host, output, (all) => isCurrent && setRead(all));
    return () => {
      isCurrent = false;
    };
  }, [host, result]);
  const readFile = useCallback(
    async (path: string) => {
      const { text, blob = '' } = await host.readResource(workspaceUri(session, path));
      return new Blob([text ?? Uint8Array.from(atob(blob), (char) => char.charCodeAt(0))]);
    },
    [host, session],
  );
  if (output === undefined)
    return <Output node={undefined} detail={plainCallOf(result)} isLatest readFile={readFile} />;
  return (
    <>
      <Output node={nodeOf(output)} detail={callOf(code, output, read)} isLatest readFile={readFile} />
      {session !== DEFAULT_SESSION && <SessionPanel key={session} host={host} session={session} />}
    </>
  );
}

/** Tells the host the height of the page whenever it changes. */
function reportSize(host: Host): void {
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    host.notify('ui/notifications/size-changed', { height });
  });
  observer.observe(document.body);
}
