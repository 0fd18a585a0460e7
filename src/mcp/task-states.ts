/**
 * The states of the tasks of a tenant. Every change adds a state, and the last one counts. States are kept as outputs of recent calls
 * are: for a limited time, in limited number and size, and for all servers that share a database.
 */
import { randomUUID } from 'node:crypto';
import type { InputRequests } from '@modelcontextprotocol/server';
import type { Cancellations, ExpiringValues } from '../stores/coordination.ts';
import { ActiveCalls } from './active-calls.ts';
import type { RoundState } from './runs-awaiting-approval.ts';

/** A task as `tasks/get` returns it. */
export interface Task {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled';
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly inputRequests?: InputRequests;
  readonly result?: object;
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
  /** The tasks that this server is working on, by their id. */
  readonly calls: ActiveCalls;

  constructor(
    readonly values: ExpiringValues,
    cancellations: Cancellations | undefined,
  ) {
    this.calls = new ActiveCalls(cancellations);
  }

  async add(state: TaskState): Promise<void> {
    const { taskId } = state.task;
    const value = Buffer.from(JSON.stringify(state));
    await this.values.add([{ key: `task://${taskId}/${randomUUID()}`, session_id: taskId, value }]);
  }

  /** The last state of a task; undefined if there is no such task or its states were removed. */
  async latest(taskId: string): Promise<TaskState | undefined> {
    const [key] = await this.values.keys(taskId);
    const bytes = key === undefined ? undefined : await this.values.get(key);
    return bytes && JSON.parse(Buffer.from(bytes).toString());
  }
}
