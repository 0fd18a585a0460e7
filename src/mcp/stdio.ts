/**
 * MCP over standard input and output. Standard output carries only protocol messages. When the client closes the input or
 * the connection breaks, the server cancels running programs, saves sessions and stops.
 */
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { serverFactory } from './server.ts';
import { type ServerOptions, ServerState } from './server-state.ts';
import { resolveSettings, type ServerSettingsInput } from './settings.ts';

/** A server on standard input and output. */
export interface StdioServer {
  /** Resolves once the client has disconnected or `close` was called, after sessions are saved. */
  readonly closed: Promise<void>;
  /** Cancels running programs, saves sessions and stops. */
  close(): Promise<void>;
}

/** Serves one client over the standard input and output of this process. */
export function serveStdio(settings: ServerSettingsInput = {}, options: ServerOptions = {}): StdioServer {
  const state = new ServerState(resolveSettings(settings), options);
  const { log } = state.telemetry;
  const factory = serverFactory(state);
  const transport = new StdioServerTransport();
  const handle = serve(() => factory({}), {
    transport,
    onerror: (cause) => log.warn({ event: 'transport.error', err: cause }, 'transport error'),
  });
  let finish: () => void;
  const closed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let isClosing = false;
  const close = async () => {
    if (isClosing) return closed;
    isClosing = true;
    await handle.close().catch(() => {});
    await state.close();
    log.info({ event: 'server.stop' }, 'server stopped');
    finish();
  };
  // The transport also closes on a line that exceeds its buffer limit and when output can no longer be written.
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    void close();
  };
  // A closed pipe emits `end`, a broken one `close` or `error`.
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => void close());
  log.info({ event: 'server.start', transport: 'stdio', version: state.version }, 'server started');
  return { closed, close };
}
