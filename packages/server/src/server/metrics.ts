/**
 * Usage statistics: per tenant for the `get_metrics` tool, and for the whole server as Prometheus metrics. A program that
 * fails counts as a failure, although the tool call itself succeeds.
 */

import type { LanguageName, SandboxResult } from '@llm-wasm-sandbox/core/internal';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Percentiles cover this many recent executions. */
const RECENT_EXECUTIONS = 1000;
const PERCENTILES = [50, 95, 99] as const;

/** Figures of one execution. */
interface ExecutionStats {
  readonly language: LanguageName;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly queue_ms: number;
  readonly fuel_consumed: number;
  readonly error_type: string | undefined;
}

/** The figures of a result. */
export function executionStats(language: LanguageName, result: SandboxResult): ExecutionStats {
  const { success, metadata, duration_ms, fuel_consumed } = result;
  return {
    language,
    outcome: success ? 'success' : (metadata.trap_reason ?? 'error'),
    duration_ms,
    queue_ms: metadata.queue_ms,
    fuel_consumed,
    error_type: success ? undefined : (metadata.error_guidance?.error_type ?? metadata.error?.type),
  };
}

type Percentiles = Record<`p${(typeof PERCENTILES)[number]}`, number>;

/** Statistics of one tenant since the server started. */
export class TenantStats {
  readonly #recent: ExecutionStats[] = [];
  readonly #outcomes = new Map<string, number>();
  readonly #errors = new Map<string, number>();
  readonly #languages = new Map<string, number>();
  #fuel = 0;
  #toolCalls = 0;
  #toolErrors = 0;

  recordToolCall(isError: boolean): void {
    this.#toolCalls++;
    if (isError) this.#toolErrors++;
  }

  recordExecution(execution: ExecutionStats): void {
    this.#recent.push(execution);
    if (this.#recent.length > RECENT_EXECUTIONS) this.#recent.shift();
    increment(this.#outcomes, execution.outcome);
    increment(this.#languages, execution.language);
    if (execution.error_type !== undefined) increment(this.#errors, execution.error_type);
    this.#fuel += execution.fuel_consumed;
  }

  report() {
    const total = [...this.#outcomes.values()].reduce((sum, n) => sum + n, 0);
    const succeeded = this.#outcomes.get('success') ?? 0;
    return {
      tool_calls: this.#toolCalls,
      tool_errors: this.#toolErrors,
      executions: total,
      succeeded,
      failed: total - succeeded,
      outcomes: Object.fromEntries(this.#outcomes),
      languages: Object.fromEntries(this.#languages),
      error_types: Object.fromEntries(this.#errors),
      fuel_consumed: this.#fuel,
      duration_ms: percentiles(this.#recent.map(({ duration_ms }) => duration_ms)),
      queue_ms: percentiles(this.#recent.map(({ queue_ms }) => queue_ms)),
      fuel: percentiles(this.#recent.map(({ fuel_consumed }) => fuel_consumed)),
    };
  }
}

/** Error types are named by guests, so distinct names are limited; the rest count as "other". */
const MAX_NAMES = 50;

function increment(counts: Map<string, number>, name: string): void {
  const key = counts.has(name) || counts.size < MAX_NAMES ? name.slice(0, 100) : 'other';
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Nearest-rank percentiles; 0 if there are no values. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (percent: number) => sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
  return Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, at(percent)])) as Percentiles;
}

/** Prometheus metrics of the whole server. */
export class ServerMetrics {
  readonly registry = new Registry();
  readonly #toolCalls = new Counter({
    name: 'llm_wasm_sandbox_tool_calls_total',
    help: 'Tool calls, by tool and by whether the tool succeeded. A call to execute_code whose program fails counts as ok.',
    labelNames: ['tool', 'outcome'],
    registers: [this.registry],
  });
  readonly #executionSeconds = new Histogram({
    name: 'llm_wasm_sandbox_execution_seconds',
    help: 'Run time of programs, by language and outcome.',
    labelNames: ['language', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [this.registry],
  });
  readonly #queueSeconds = new Histogram({
    name: 'llm_wasm_sandbox_queue_seconds',
    help: 'Time that executions spent in the queue.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    registers: [this.registry],
  });
  readonly #fuel = new Counter({
    name: 'llm_wasm_sandbox_fuel_total',
    help: 'WebAssembly instructions executed by programs.',
    labelNames: ['language'],
    registers: [this.registry],
  });
  readonly #httpResponses = new Counter({
    name: 'llm_wasm_sandbox_http_responses_total',
    help: 'HTTP responses, by status code.',
    labelNames: ['status'],
    registers: [this.registry],
  });

  /** `gauges` read the current values. */
  constructor(gauges: Readonly<Record<'running' | 'queued' | 'sessions' | 'heldBytes', () => number>>) {
    const rows = [
      ['running', 'Programs that are running.', gauges.running],
      ['queued', 'Calls in the queue.', gauges.queued],
      ['sessions', 'Sessions of all tenants.', gauges.sessions],
      ['held_bytes', 'Bytes of files and interpreter memory that sessions hold in memory.', gauges.heldBytes],
    ] as const;
    for (const [name, help, read] of rows) {
      new Gauge({
        name: `llm_wasm_sandbox_${name}`,
        help,
        registers: [this.registry],
        collect() {
          this.set(read());
        },
      });
    }
  }

  recordToolCall(tool: string, outcome: 'ok' | 'error'): void {
    this.#toolCalls.inc({ tool, outcome });
  }

  recordExecution({ language, outcome, duration_ms, queue_ms, fuel_consumed }: ExecutionStats): void {
    this.#executionSeconds.observe({ language, outcome }, duration_ms / 1000);
    this.#queueSeconds.observe(queue_ms / 1000);
    this.#fuel.inc({ language }, fuel_consumed);
  }

  recordHttpResponse(status: number): void {
    this.#httpResponses.inc({ status });
  }
}
