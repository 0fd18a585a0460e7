/**
 * Structured log events, and trace spans where OpenTelemetry is installed. Events and spans of the server carry tool
 * names, session ids and figures, never code, output or secrets. Events of the library go to the same log; they quote
 * no program either.
 */

import { type EventLogger, sha256Hex } from '@llm-wasm-sandbox/core/internal';

/** Receives log events. A pino logger has these methods. */
export interface ServerLog extends EventLogger {
  /** Receives an event that reports an error. */
  error(fields: object, message: string): void;
}

/** A trace span. */
export interface Span {
  /** Sets an attribute. */
  set(name: string, value: string | number | boolean): void;
  /** Sets the status to error. */
  fail(message: string): void;
}

/** Receives log events and spans. */
export interface Telemetry {
  /** Receives log events. */
  readonly log: ServerLog;
  /** Runs `work` inside a span with this name. `carrier` has the trace context of the client, such as `traceparent`. */
  span<T>(
    name: string,
    work: (span: Span) => Promise<T>,
    carrier?: Readonly<Record<string, unknown>>,
  ): Promise<T>;
}

const noop = () => {};
const NO_SPAN: Span = { set: noop, fail: noop };

/** Discards events and creates no spans. */
export const noTelemetry: Telemetry = {
  log: { info: noop, warn: noop, error: noop },
  span: (_, work) => work(NO_SPAN),
};

/** Creates telemetry that writes events to `log`. It also creates spans if `@opentelemetry/api` is installed. */
export async function createTelemetry(log: ServerLog): Promise<Telemetry> {
  const api = await import('@opentelemetry/api').catch(() => undefined);
  if (api === undefined) return { log, span: noTelemetry.span };
  const tracer = api.trace.getTracer('llm-wasm-sandbox');
  return {
    log,
    span: (name, work, carrier = {}) => {
      const ambient = api.trace.getActiveSpan()?.spanContext();
      const parent = api.propagation.extract(api.context.active(), traceFields(carrier));
      // The span of the transport is linked if the client has stated another parent.
      const isParent = api.trace.getSpanContext(parent)?.spanId === ambient?.spanId;
      const options = {
        kind: api.SpanKind.SERVER,
        ...(ambient !== undefined && !isParent && { links: [{ context: ambient }] }),
      };
      return tracer.startActiveSpan(name, options, parent, async (span) => {
        const set = (key: string, value: string | number | boolean) => span.setAttribute(key, value);
        const fail = (message: string) => span.setStatus({ code: api.SpanStatusCode.ERROR, message });
        try {
          return await work({ set, fail });
        } catch (cause) {
          // The error message may quote a program, so it stays out of the span.
          fail('internal');
          throw cause;
        } finally {
          span.end();
        }
      });
    },
  };
}

const MAX_FIELD_CHARS = 8192;

/** The fields that propagate a trace, as far as they are texts of a usual length. */
function traceFields(carrier: Readonly<Record<string, unknown>>): Record<string, string> {
  const fields = ['traceparent', 'tracestate', 'baggage'].map((name) => [name, carrier[name]] as const);
  return Object.fromEntries(
    fields.filter(
      (field): field is readonly [string, string] =>
        typeof field[1] === 'string' && field[1].length <= MAX_FIELD_CHARS,
    ),
  );
}

/** Identifies a program in the log without revealing it. */
export function shortDigest(text: string): string {
  return sha256Hex(text).slice(0, 16);
}
