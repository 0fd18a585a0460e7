/**
 * Follows a session through its event stream. The stream is closed while the page is hidden, because browsers allow few
 * connections per server, and opened again with a fresh snapshot.
 */
import { useEffect, useReducer, useState } from 'preact/hooks';
import { readEvents } from './api.ts';
import { EMPTY_VIEW, reduce, type SessionView } from './session-view.ts';

const RETRY_MS = 1000;

interface Followed {
  readonly view: SessionView;
  readonly isConnected: boolean;
}

export function useSessionEvents(
  session_id: string | undefined,
  onError: (cause: unknown) => void,
): Followed {
  const [view, dispatch] = useReducer(reduce, EMPTY_VIEW);
  const [isConnected, setConnected] = useState(false);
  useEffect(() => {
    dispatch({ type: 'reset' });
    if (session_id === undefined) return undefined;
    let stream: AbortController | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const connect = async () => {
      clearTimeout(retry);
      stream?.abort();
      const own = new AbortController();
      stream = own;
      try {
        await readEvents(session_id, own.signal, (event) => {
          if (own.signal.aborted) return;
          if (event.type === 'snapshot') setConnected(true);
          dispatch(event);
        });
      } catch (cause) {
        if (!own.signal.aborted && (cause as { status?: number }).status !== undefined) return onError(cause);
      }
      if (own.signal.aborted || isGone) return;
      setConnected(false);
      retry = setTimeout(connect, RETRY_MS);
    };
    const onVisibility = () => {
      if (document.visibilityState === 'visible') void connect();
      else stream?.abort();
    };
    document.addEventListener('visibilitychange', onVisibility);
    void connect();
    return () => {
      isGone = true;
      clearTimeout(retry);
      stream?.abort();
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [session_id]);
  return { view, isConnected };
}
