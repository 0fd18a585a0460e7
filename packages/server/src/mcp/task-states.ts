/**
 * The states of the tasks of a tenant. Every change adds a state, and the last one counts. States are kept as outputs of recent calls
 * are: for a limited time, in limited number and size, and for all servers that share a database.
 */
import { randomUUID } from 'node:crypto';
import type { Cancellations, ExpiringValues } from '@llm-wasm-sandbox/core/internal';
import type { InputRequests } from '@modelcontextprotocol/server';
import { ActiveCalls } from '../server/active-calls.ts';
import type { RoundState } from './runs-awaiting-approval.ts';

/** A task as `tasks/get` returns it. */
export interface Task {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly inputRequests?: InputRequests;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The questions that a task waits for, and what is needed to continue its program with the answers. */
export interface TaskRound {
  readonly tool: string;
  readonly session_id: string | undefined;
  /** Digest of the arguments of the call. */
  readonly request: string;
  readonly state: RoundState;
}

export interface TaskState {
  readonly task: Task;
  readonly round?: TaskRound | undefined;
}

/** Interval at which a server shows that it is working on tasks, and saves states that it could not save before. */
const BEAT_MS = 10_000;
/** A server that has shown nothing for this long has ended. */
const LOST_MS = 60_000;

const lifeOf = (taskId: string) => `task:${taskId}`;

export class TaskStates {
  /** The tasks that this server is working on, by their id. */
  readonly calls: ActiveCalls;
  readonly #working = new Set<string>();
  readonly #unsaved = new Map<string, TaskState>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly values: ExpiringValues,
    cancellations: Cancellations | undefined,
  ) {
    this.calls = new ActiveCalls(cancellations);
  }

  /** Adds a task, which this server may be working on. */
  async add(state: TaskState): Promise<void> {
    const { taskId, status } = state.task;
    const isWorking = status === 'working';
    if (isWorking) await this.calls.shared?.request(lifeOf(taskId));
    await this.#save(state);
    if (!isWorking) return;
    this.#working.add(taskId);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  /** Adds the state after this server's work. If it cannot be saved now, this fails and it is saved later. */
  async end(state: TaskState): Promise<void> {
    const { taskId } = state.task;
    this.#unsaved.set(taskId, state);
    this.#working.delete(taskId);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MS).unref();
    await this.#save(state);
    this.#unsaved.delete(taskId);
  }

  async #save(state: TaskState): Promise<void> {
    const { taskId } = state.task;
    // biome-ignore lint/plugin: the state of one task with the result of one call
    const value = Buffer.from(JSON.stringify(state));
    await this.values.add([{ key: `task://${taskId}/${randomUUID()}`, session_id: taskId, value }]);
  }

  #beat(): void {
    // What fails now is tried again at the next beat.
    for (const state of this.#unsaved.values()) this.end(state).catch(() => {});
    for (const taskId of this.#working) this.calls.shared?.request(lifeOf(taskId)).catch(() => {});
    if (this.#working.size + this.#unsaved.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The last state of a task; undefined if there is no such task or its states were removed. */
  async latest(taskId: string): Promise<TaskState | undefined> {
    const unsaved = this.#unsaved.get(taskId);
    if (unsaved !== undefined) return unsaved;
    const [key] = await this.values.keys(taskId);
    const bytes = key === undefined ? undefined : await this.values.get(key);
    // biome-ignore lint/plugin: the state of one task with the result of one call
    return bytes && JSON.parse(Buffer.from(bytes).toString());
  }

  /** Whether the server that works on a task has ended. */
  async isLost(taskId: string): Promise<boolean> {
    const { shared } = this.calls;
    if (shared === undefined || this.#working.has(taskId)) return false;
    const name = lifeOf(taskId);
    return ((await shared.ages([name])).get(name) ?? Number.POSITIVE_INFINITY) > LOST_MS;
  }
}
