/** The log of a server process: JSON lines on standard error, because standard output carries the protocol. */
import { pino } from 'pino';
import type { ServerLog } from './telemetry.ts';

const STDERR = 2;

export function createStderrLog(level: string): ServerLog {
  return pino({ name: 'llm-wasm-sandbox', level }, pino.destination({ fd: STDERR, sync: true }));
}
