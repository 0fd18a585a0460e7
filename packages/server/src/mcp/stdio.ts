/**
 * MCP over standard input and output. Standard output carries only protocol messages. When the client closes the input or
 * the connection breaks, the server cancels running programs, saves sessions and stops. `close` first lets them finish.
 */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AUTO, isDatabaseAddress, nextTurn, pollUntil } from '@llm-wasm-sandbox/core/internal';
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { resolveSettings } from '../server/resolve-settings.ts';
import { type ServerOptions, ServerState } from '../server/server-state.ts';
import type { ServerSettingsInput } from '../server/settings.ts';
import { stopOnce } from '../server/stop-once.ts';
import { McpState } from './mcp-state.ts';
import { PackageConsent } from './package-consent.ts';
import { serverFactory } from './server.ts';
import { CheckedLines } from './stdio-lines.ts';

/** A running server on standard input and output. Created by `serveStdio`. */
export interface StdioServer {
  /** Resolves when the server has stopped. Rejects if a session could not be saved. */
  readonly closed: Promise<void>;
  /**
   * Stops the server. Waits up to `shutdown_seconds` for running calls and cancels the others. Then saves the sessions.
   * Rejects if a session could not be saved.
   */
  close(): Promise<void>;
}

/**
 * Starts an MCP server for one client on the standard input and output of this process. Throws `invalid_argument` if the
 * settings are invalid.
 */
export function serveStdio(settings: ServerSettingsInput = {}, options: ServerOptions = {}): StdioServer {
  const resolved = resolveSettings(settings);
  // The user at the client decides, unless the settings do. Servers with the same database must have the same packages.
  const asks = resolved.packages === undefined && !isDatabaseAddress(resolved.store ?? '');
  const state = new ServerState(asks ? { ...resolved, packages: [AUTO] } : resolved, options);
  const mcp = new McpState(state, asks ? new PackageConsent() : undefined);
  const { log } = state.telemetry;
  const factory = serverFactory(mcp);
  const lines = new CheckedLines(
    // biome-ignore lint/plugin: the message of an error
    (error) => void process.stdout.write(`${JSON.stringify(error)}\n`),
    roomForAnswers,
  );
  const transport = new StdioServerTransport(lines as Readable, process.stdout);
  const handle = serve(() => factory({}), {
    transport,
    onerror: (cause) => state.logTransportError(cause),
  });
  const stopReading = () => {
    process.stdin.unpipe(lines);
    process.stdin.pause();
  };
  const stopNow = async () => {
    stopReading();
    await handle.close().catch(() => {});
    mcp.close();
    try {
      await state.close();
    } finally {
      log.info({ event: 'server.stop' }, 'server stopped');
    }
  };
  const { closed, stop } = stopOnce(stopNow);
  const close = async () => {
    stopReading();
    await state.drain();
    await flushStdout();
    await stop();
  };
  // The transport also closes on a line that is too long and when output can no longer be written.
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    void stop();
  };
  // A closed pipe emits `end`, a broken one `close` or `error`.
  for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => void stop());
  process.stdin.pipe(lines);
  void state.prepare();
  log.info({ event: 'server.start', transport: 'stdio', version: state.version }, 'server started');
  return { closed, close };
}

/** Answers that the client has not read. Beyond that, its messages wait. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

async function roomForAnswers(): Promise<void> {
  await nextTurn();
  const { stdout } = process;
  if (stdout.writableLength <= MAX_UNREAD_BYTES) return;
  const events = ['drain', 'close', 'error'];
  await new Promise<void>((resolve) => {
    const end = () => {
      for (const event of events) stdout.off(event, end);
      resolve();
    };
    for (const event of events) stdout.on(event, end);
  });
}

/** How long the last responses may take to reach the client. */
const FLUSH_MS = 1000;
/** A call ends shortly before its response is written. */
const RESPONSE_DELAY_MS = 20;

async function flushStdout(): Promise<void> {
  await delay(RESPONSE_DELAY_MS);
  await pollUntil(() => process.stdout.writableLength === 0, FLUSH_MS);
}
