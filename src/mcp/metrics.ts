/**
 * What happened so far, in numbers: for one tenant, who may ask for it, and for the whole server, for Prometheus. A
 * program that failed counts as a failure, whatever the protocol makes of it.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RuntimeName, SandboxResult } from '../schema.ts';

/** Runs whose figures are kept for percentiles. */
const RECENT_EXECUTIONS = 1000;
const PERCENTILES = [50, 95, 99] as const;

/** One execution as far as numbers go. */
export interface ExecutionStats {
  readonly language: RuntimeName;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly queue_ms: number;
  readonly fuel_consumed: number;
  readonly error_type: string | undefined;
}

export function executionStats(language: RuntimeName, result: SandboxResult): ExecutionStats {
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

export type Percentiles = Record<`p${(typeof PERCENTILES)[number]}`, number>;

/** Numbers of one tenant since the server started; percentiles are about the last thousand runs. */
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

  recordExecution(facts: ExecutionStats): void {
    this.#recent.push(facts);
    if (this.#recent.length > RECENT_EXECUTIONS) this.#recent.shift();
    increment(this.#outcomes, facts.outcome);
    increment(this.#languages, facts.language);
    if (facts.error_type !== undefined) increment(this.#errors, facts.error_type);
    this.#fuel += facts.fuel_consumed;
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
      duration_ms: percentiles(this.#recent.map((run) => run.duration_ms)),
      queue_ms: percentiles(this.#recent.map((run) => run.queue_ms)),
      fuel: percentiles(this.#recent.map((run) => run.fuel_consumed)),
    };
  }
}

/** Names of error types come from guests: so many are counted, the rest as one. */
const MAX_NAMES = 50;

function increment(counts: Map<string, number>, name: string): void {
  const key = counts.has(name) || counts.size < MAX_NAMES ? name.slice(0, 100) : 'other';
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Nearest-rank percentiles, 0 when there is nothing. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (percent: number) => sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
  return Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, at(percent)])) as Percentiles;
}

/** What a running server can be asked at any moment. */
export interface GaugeSources {
  running(): number;
  queued(): number;
  sessions(): number;
}

/** Numbers of the whole server, in Prometheus' form. */
export class ServerMetrics {
  readonly registry = new Registry();
  readonly #tools = new Counter({
    name: 'llm_wasm_sandbox_tool_calls_total',
    help: 'Calls of tools, by whether the tool could do what it was asked.',
    labelNames: ['tool', 'outcome'],
    registers: [this.registry],
  });
  readonly #seconds = new Histogram({
    name: 'llm_wasm_sandbox_execution_seconds',
    help: 'Time programs took, by language and how they ended.',
    labelNames: ['language', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [this.registry],
  });
  readonly #waits = new Histogram({
    name: 'llm_wasm_sandbox_queue_seconds',
    help: 'Time calls waited for their turn.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    registers: [this.registry],
  });
  readonly #fuel = new Counter({
    name: 'llm_wasm_sandbox_fuel_total',
    help: 'Instructions that programs executed.',
    labelNames: ['language'],
    registers: [this.registry],
  });
  readonly #http = new Counter({
    name: 'llm_wasm_sandbox_http_responses_total',
    help: 'Answers to HTTP requests, by status.',
    labelNames: ['status'],
    registers: [this.registry],
  });

  constructor(gauges: GaugeSources) {
    const rows = [
      ['running', 'Programs running now.', gauges.running],
      ['queued', 'Calls waiting for their turn.', gauges.queued],
      ['sessions', 'Sessions of all tenants.', gauges.sessions],
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
    this.#tools.inc({ tool, outcome });
  }

  recordExecution({ language, outcome, duration_ms, queue_ms, fuel_consumed }: ExecutionStats): void {
    this.#seconds.observe({ language, outcome }, duration_ms / 1000);
    this.#waits.observe(queue_ms / 1000);
    this.#fuel.inc({ language }, fuel_consumed);
  }

  recordHttpResponse(status: number): void {
    this.#http.inc({ status });
  }
}
