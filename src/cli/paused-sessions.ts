/** The paused programs in session stores. The records say which sessions are paused, so no other session is read. */
import { join } from 'node:path';
import { Option } from 'commander';
import { SandboxError } from '../errors.ts';
import { tenantFolders } from '../mcp/tokens.ts';
import type { PausedExecution } from '../schema.ts';
import { openSessionContext, type SessionContext } from './commands/session/context.ts';
import { UsageError } from './exit-codes.ts';
import { storeOption } from './options.ts';
import { escapeControls } from './terminal-text.ts';

export interface StoreFlags {
  readonly store?: string;
  readonly dataDir?: string;
  readonly tenant?: string;
}

export const storeOptions = () => [
  storeOption(),
  new Option(
    '--data-dir <DIR>',
    'Sessions of all tenants in the data_dir of an MCP server, instead of --store',
  ).conflicts('store'),
  new Option(
    '--tenant <NAME>',
    'Tenant of an MCP server that stores sessions in the database of --store (default: that of servers without tokens)',
  ).conflicts('dataDir'),
];

export interface PausedSession {
  readonly context: SessionContext;
  readonly session_id: string;
  readonly execution: PausedExecution;
}

/** The stores that the flags name: one, or those of all tenants of a server. */
export function openStores({ store, dataDir, tenant }: StoreFlags): SessionContext[] {
  if (dataDir === undefined) return [openSessionContext(store, tenant)];
  const folders = tenantFolders(dataDir);
  if (folders.length === 0)
    throw new UsageError(`${dataDir} does not contain sessions of an MCP server. Pass its data_dir.`);
  return folders.map((name) => openSessionContext(join(dataDir, name)));
}

/** The paused programs, longest waiting first. Sessions that cannot be read are reported on standard error and counted. */
export async function findPaused(
  contexts: readonly SessionContext[],
): Promise<{ readonly paused: PausedSession[]; readonly unreadable: number }> {
  const paused: PausedSession[] = [];
  const problems: string[] = [];
  for (const context of contexts) {
    const { records, damaged } = await context.store.list();
    for (const id of damaged) problems.push(`Session ${id} in ${context.location} is damaged.`);
    for (const { session_id, paused: hint } of records) {
      if (hint === undefined) continue;
      try {
        const execution = (await context.store.read(session_id))?.state.paused;
        if (execution !== undefined) paused.push({ context, session_id, execution });
      } catch (cause) {
        if (!(cause instanceof SandboxError)) throw cause;
        problems.push(`Session ${session_id} in ${context.location}: ${cause.message}`);
      }
    }
  }
  paused.sort((a, b) => (a.execution.paused_at < b.execution.paused_at ? -1 : 1));
  for (const line of problems) process.stderr.write(`llm-wasm-sandbox: ${escapeControls(line)}\n`);
  return { paused, unreadable: problems.length };
}

export const closeStores = (contexts: readonly SessionContext[]) =>
  Promise.all(contexts.map(({ sessions }) => sessions.close()));
