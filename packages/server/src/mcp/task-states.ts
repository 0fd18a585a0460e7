/**
 * The states of the tasks of a tenant. Every change adds a state, and the last one counts. States are kept as outputs of recent calls
 * are: for a limited time, in limited number and size.
 */
import { randomUUID } from 'node:crypto';
import type { ExpiringValues } from '@llm-wasm-sandbox/core/internal';
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

export class TaskStates {
  /** The tasks that are running, by their id. */
  readonly calls = new ActiveCalls(undefined);

  constructor(readonly values: ExpiringValues) {}

  async add(state: TaskState): Promise<void> {
    const { taskId } = state.task;
    // biome-ignore lint/plugin: the state of one task with the result of one call
    const value = Buffer.from(JSON.stringify(state));
    await this.values.add([{ key: `task://${taskId}/${randomUUID()}`, session_id: taskId, value }]);
  }

  /** The last state of a task; undefined if there is no such task or its states were removed. */
  async latest(taskId: string): Promise<TaskState | undefined> {
    const [key] = await this.values.keys(taskId);
    const bytes = key === undefined ? undefined : await this.values.get(key);
    // biome-ignore lint/plugin: the state of one task with the result of one call
    return bytes && JSON.parse(Buffer.from(bytes).toString());
  }
}
