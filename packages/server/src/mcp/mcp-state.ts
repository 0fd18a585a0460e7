/** What an MCP server remembers beside the state of the server: programs that wait for a person, and the tasks of tenants. */
import type { ServerState } from '../server/server-state.ts';
import type { Tenant } from '../server/tenant.ts';
import { createRoundCodec } from './client-input.ts';
import type { PackageConsent } from './package-consent.ts';
import { RunsAwaitingApproval } from './runs-awaiting-approval.ts';
import { TaskStates } from './task-states.ts';

/** @internal */
export class McpState {
  readonly approvals: RunsAwaitingApproval;
  readonly roundCodec: ReturnType<typeof createRoundCodec>;
  readonly #tasks = new Map<string, TaskStates>();

  /** `packageConsent` asks the user before packages are added; it is undefined if the settings decide. */
  constructor(
    readonly server: ServerState,
    readonly packageConsent?: PackageConsent,
  ) {
    const { coordination } = server;
    this.approvals = new RunsAwaitingApproval(coordination.approvals);
    this.roundCodec = createRoundCodec(() => coordination.signingKey());
  }

  /** The tasks of a tenant. */
  tasksOf({ id, storeName }: Tenant): TaskStates {
    let tasks = this.#tasks.get(id);
    if (tasks === undefined) {
      const { coordination } = this.server;
      tasks = new TaskStates(
        coordination.values(`${storeName}/tasks`),
        coordination.cancellations?.(storeName),
      );
      this.#tasks.set(id, tasks);
    }
    return tasks;
  }

  /** Cancels the programs that wait. */
  close(): void {
    this.approvals.close();
  }
}
