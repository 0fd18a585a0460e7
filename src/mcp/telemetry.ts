/**
 * What the server tells about itself while it runs: structured events to a log, and spans where OpenTelemetry is
 * installed. Its own name tools, sessions and figures; code, output and secrets are never part of one. Those of the
 * library go to the same log and may quote, as guidance does, the line a program failed on.
 */
import { createHash } from 'node:crypto';
import type { EventLogger } from '../schema.ts';

/** What events are written to. A pino logger is one. */
export interface ServerLog extends EventLogger {
  error(fields: object, message: string): void;
}

export interface Span {
  set(name: string, value: string | number | boolean): void;
  fail(message: string): void;
}

export interface Telemetry {
  readonly log: ServerLog;
  /** Runs work inside a span of that name. */
  span<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
}

const nothing = () => {};
const NO_SPAN: Span = { set: nothing, fail: nothing };

export const noTelemetry: Telemetry = {
  log: { info: nothing, warn: nothing, error: nothing },
  span: (_, work) => work(NO_SPAN),
};

/** An telemetry that logs, and makes spans when the process has `@opentelemetry/api`. */
export async function createTelemetry(log: ServerLog): Promise<Telemetry> {
  const api = await import('@opentelemetry/api').catch(() => undefined);
  if (api === undefined) return { log, span: noTelemetry.span };
  const tracer = api.trace.getTracer('llm-wasm-sandbox');
  return {
    log,
    span: (name, work) =>
      tracer.startActiveSpan(name, async (span) => {
        const set = (key: string, value: string | number | boolean) => span.setAttribute(key, value);
        const fail = (message: string) => span.setStatus({ code: api.SpanStatusCode.ERROR, message });
        try {
          return await work({ set, fail });
        } catch (cause) {
          // Not what it says: that may quote a program.
          fail('internal');
          throw cause;
        } finally {
          span.end();
        }
      }),
  };
}

/** Says which code ran without saying what it was. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
