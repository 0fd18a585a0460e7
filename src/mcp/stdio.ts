/**
 * MCP over standard input and output. Standard output carries protocol messages and nothing else; when the client
 * closes our input or cannot be talked to, running programs are stopped, sessions are written, and the server is done.
 */
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { serverFactory } from './server.ts';
import { type ServerOptions, ServerState } from './server-state.ts';
import { resolveSettings, type ServerSettingsInput } from './settings.ts';

export interface StdioServer {
  /** Resolves when the client has gone or `close` was called, after sessions are written. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves the client at this process's standard input and output. */
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
  // The transport also gives up by itself: on a line too long to keep, or when nobody takes our output any more.
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    void close();
  };
  // Either may come first: `end` for a pipe that was closed, `close` for one that broke.
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => void close());
  log.info({ event: 'server.start', transport: 'stdio', version: state.version }, 'server started');
  return { closed, close };
}
