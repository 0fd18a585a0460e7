/** The log of a server process: pino, as JSON lines on standard error, where no protocol message can get lost in it. */
import { pino } from 'pino';
import type { ServerLog } from './telemetry.ts';

const STDERR = 2;

export function createStderrLog(level: string): ServerLog {
  return pino({ name: 'llm-wasm-sandbox', level }, pino.destination({ fd: STDERR, sync: true }));
}
