/** The REST interface of E2B: the life of sandboxes and snapshots. What a sandbox cannot have is refused with a reason. */

import { defaultPolicy } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError, toHttpError } from '../server/http-error.ts';
import { checkedBody, respond } from '../server/rest-call.ts';
import type { Tenant } from '../server/tenant.ts';
import type { E2bCall, E2bHandler, E2bRoutes } from './e2b-call.ts';
import { toE2bError } from './e2b-error.ts';
import { HOME } from './file-paths.ts';
import { isWanted, listedPage, listQuery } from './list-query.ts';
import { networkBody, requestedPatterns } from './network-options.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/** The features that SDKs expect depend on it. */
const ENVD_VERSION = '0.6.4';
const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 24 * 86_400;
const MAX_FORKS = 10;
const CLIENT_ID = 'llm-wasm-sandbox';
const MiB = 1024 * 1024;

const timeout = z.number().int().min(0).max(MAX_TIMEOUT_SECONDS).nullish();
const texts = z
  .record(z.string().max(256), z.string().max(4096))
  .refine((all) => Object.keys(all).length <= 64, {
    error: 'must have at most 64 entries',
  });
/** A field that only a missing or empty value may have, because `reason`. */
const refused = (reason: string) =>
  z
    .unknown()
    .refine(isEmpty, { error: `is not available: ${reason}` })
    .optional();

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const BODIES = {
  create: z.strictObject({
    templateID: z.string().max(256),
    timeout,
    metadata: texts.nullish(),
    envVars: z.record(z.string(), z.string()).nullish(),
    autoPause: z.boolean().nullish(),
    autoPauseMemory: z.boolean().nullish(),
    autoResume: z.strictObject({ enabled: z.boolean(), timeout: z.number().nullish() }).nullish(),
    secure: z.boolean().nullish(),
    allow_internet_access: z.boolean().nullish(),
    network: networkBody.nullish(),
    mcp: refused('a sandbox runs no MCP gateway. This server itself speaks MCP'),
    iam: refused('there are no workload identities'),
    volumeMounts: refused('there are no volumes. Upload the files'),
  }),
  connect: z.strictObject({ timeout, memory: z.boolean().nullish() }),
  timeout: z.strictObject({ timeout: z.number().int().min(0).max(MAX_TIMEOUT_SECONDS) }),
  pause: z.strictObject({ memory: z.boolean().nullish() }),
  fork: z.strictObject({ timeout, count: z.number().int().min(1).max(MAX_FORKS).nullish() }),
  snapshot: z.strictObject({ name: z.string().min(1).max(128).nullish() }),
  network: networkBody.extend({ allow_internet_access: z.boolean().nullish() }),
} as const;

const msOf = (seconds: number | null | undefined) => (seconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000;

/** What a client needs to use a sandbox. */
async function sandboxAccess({ tenant, tokens }: E2bCall, { sandbox_id, template }: SandboxRecord) {
  const token = await tokens.issue(tenant.id, sandbox_id);
  return {
    sandboxID: sandbox_id,
    templateID: template,
    clientID: CLIENT_ID,
    envdVersion: ENVD_VERSION,
    envdAccessToken: token,
    trafficAccessToken: token,
  };
}

const create: E2bHandler = async (call) => {
  const { tenant, sandboxes } = call;
  const body = await checkedBody(call, BODIES.create);
  const { templateID, metadata, envVars, timeout: seconds, autoPause, autoPauseMemory, autoResume } = body;
  const only = requestedPatterns(tenant, { isAllowed: body.allow_internet_access, network: body.network });
  const record = await sandboxes.create(tenant, {
    template: templateID,
    metadata: metadata ?? {},
    timeoutMs: msOf(seconds),
    policy: { home: HOME, env: envVars ?? {}, ...(only !== undefined && { network_only: only }) },
    on_timeout: autoPause ? 'pause' : 'kill',
    keeps_memory: autoPauseMemory ?? true,
    auto_resume: autoResume?.enabled ?? false,
  });
  await respond(call, 201, await sandboxAccess(call, record));
};

const connect: E2bHandler = async (call) => {
  const { tenant, sandboxes, params } = call;
  const { timeout: seconds, memory } = await checkedBody(call, BODIES.connect);
  await sandboxes.get(tenant, params[0]!);
  const how = { timeoutMs: msOf(seconds), keepsMemory: memory ?? true };
  const { record, wasPaused } = await sandboxes.connect(tenant, params[0]!, how);
  await respond(call, wasPaused ? 201 : 200, await sandboxAccess(call, record));
};

const info: E2bHandler = async (call) => {
  const { tenant, sandboxes, params } = call;
  const record = await sandboxes.get(tenant, params[0]!);
  const described = await describer(tenant);
  await respond(call, 200, { ...(await sandboxAccess(call, record)), ...described(record) });
};

/** Describes sandboxes as lists show them. */
async function describer(tenant: Tenant) {
  const policies = new Map((await tenant.sessions.list()).map((one) => [one.session_id, one.policy]));
  return (record: SandboxRecord) => {
    const given = { ...tenant.policy, ...policies.get(record.sandbox_id) };
    const { memory_bytes, workspace_max_bytes } = defaultPolicy();
    return {
      sandboxID: record.sandbox_id,
      templateID: record.template,
      clientID: CLIENT_ID,
      metadata: record.metadata,
      state: record.state,
      startedAt: record.started_at,
      endAt: new Date(record.end_at).toISOString(),
      cpuCount: 1,
      memoryMB: Math.round((given.memory_bytes ?? memory_bytes) / MiB),
      diskSizeMB: Math.round((given.workspace_max_bytes ?? workspace_max_bytes) / MiB),
      envdVersion: ENVD_VERSION,
      allowInternetAccess: tenant.policy.network !== undefined && given.network_only?.length !== 0,
      lifecycle: { onTimeout: record.on_timeout, autoResume: record.auto_resume },
      volumeMounts: [],
    };
  };
}

const list: E2bHandler = async (call) => {
  const { tenant, sandboxes, query } = call;
  const wanted = listQuery(query);
  const found = (await sandboxes.list(tenant)).filter((record) => isWanted(record, wanted));
  const { page, headers } = listedPage(found, wanted);
  await respond(call, 200, page.map(await describer(tenant)), headers);
};

const setTimeoutOf: E2bHandler = async (call) => {
  const { tenant, sandboxes, params, response } = call;
  const { timeout: seconds } = await checkedBody(call, BODIES.timeout);
  const { state } = await sandboxes.get(tenant, params[0]!);
  if (state === 'paused') throw new HttpError(409, 'The sandbox is paused. Connect to it first');
  await sandboxes.setTimeout(tenant, params[0]!, seconds * 1000);
  response.writeHead(204).end();
};

const pause: E2bHandler = async (call) => {
  const { tenant, sandboxes, params, response } = call;
  const { memory } = await checkedBody(call, BODIES.pause);
  await sandboxes.get(tenant, params[0]!);
  await sandboxes.pause(tenant, params[0]!, memory ?? true);
  response.writeHead(204).end();
};

const kill: E2bHandler = async ({ tenant, sandboxes, params, response }) => {
  await sandboxes.kill(tenant, params[0]!);
  response.writeHead(204).end();
};

const fork: E2bHandler = async (call) => {
  const { tenant, sandboxes, params } = call;
  const { timeout: seconds, count } = await checkedBody(call, BODIES.fork);
  await sandboxes.get(tenant, params[0]!);
  const results: unknown[] = [];
  for (let i = 0; i < (count ?? 1); i++) {
    await call.nextSlice();
    try {
      const record = await sandboxes.fork(tenant, params[0]!, msOf(seconds));
      results.push({ sandbox: await sandboxAccess(call, record) });
    } catch (cause) {
      const { error } = toHttpError(toE2bError(cause));
      results.push({ error: { code: error.status, message: error.message } });
    }
  }
  await respond(call, 201, results);
};

const snapshotInfo = ({ sandbox_id, name }: SandboxRecord) => ({
  snapshotID: sandbox_id,
  names: name === undefined ? [] : [name],
});

const snapshot: E2bHandler = async (call) => {
  const { tenant, sandboxes, params } = call;
  const { name } = await checkedBody(call, BODIES.snapshot);
  await respond(call, 201, snapshotInfo(await sandboxes.snapshot(tenant, params[0]!, name ?? undefined)));
};

const listSnapshots: E2bHandler = async (call) => {
  const { tenant, sandboxes, query } = call;
  const [origin, name] = [query.get('sandboxID'), query.get('name')];
  const found = (await sandboxes.list(tenant, 'e2s')).filter(
    (one) => (origin === null || one.origin === origin) && (name === null || one.name === name),
  );
  const { page, headers } = listedPage(found, listQuery(query));
  await respond(call, 200, page.map(snapshotInfo), headers);
};

const deleteSnapshot: E2bHandler = async ({ tenant, sandboxes, params, response }) => {
  await sandboxes.deleteSnapshot(tenant, params[0]!);
  response.writeHead(204).end();
};

/** Clients round the ends of a period, and their clocks differ. */
const CLOCK_SECONDS = 5;

/** Whether the period that a client asks for contains the present. Its ends are Unix times in seconds. */
function isNowWithin(query: URLSearchParams): boolean {
  const now = Date.now() / 1000;
  const [start, end] = [query.get('start') ?? now, query.get('end') ?? now].map(Number);
  return start! - CLOCK_SECONDS <= now && now <= end! + CLOCK_SECONDS;
}

/** One sample of what the sandbox uses now. Memory is what its saved interpreter takes in the store. */
const metrics: E2bHandler = async (call) => {
  const { tenant, sandboxes, params, query } = call;
  const record = await sandboxes.get(tenant, params[0]!);
  if (!isNowWithin(query)) return respond(call, 200, []);
  const session = await sandboxes.owner(tenant, record);
  const { bytes } = await session.fileTree();
  const now = Date.now();
  const sample = {
    timestamp: new Date(now).toISOString(),
    timestampUnix: Math.floor(now / 1000),
    cpuUsedPct: 100 * tenant.calls.count(record.sandbox_id),
    cpuCount: 1,
    memUsed: Math.max(0, (await tenant.sessions.store.size(record.sandbox_id)) - bytes),
    memTotal: session.policy.memory_bytes,
    memCache: 0,
    diskUsed: bytes,
    diskTotal: session.policy.workspace_max_bytes,
  };
  await respond(call, 200, [sample]);
};

const network: E2bHandler = async (call) => {
  const { tenant, sandboxes, params, response } = call;
  await sandboxes.get(tenant, params[0]!);
  const { allow_internet_access: isAllowed, ...body } = await checkedBody(call, BODIES.network);
  requestedPatterns(tenant, { isAllowed, network: body });
  if (tenant.policy.network !== undefined)
    throw new HttpError(400, 'The network of a sandbox cannot be changed. Pass network to Sandbox.create()');
  response.writeHead(204).end();
};

/** What only virtual machines have, by the first part of the path. */
export const NOT_IN_A_SANDBOX: Readonly<Record<string, string>> = {
  templates: 'Templates cannot be built: a sandbox is an interpreter, not an image. Take a snapshot instead',
  volumes: 'There are no volumes. Upload the files, or take a snapshot',
  volumecontent: 'There are no volumes. Upload the files, or take a snapshot',
  secrets: 'There are no secrets. Pass variables with envs',
};

export const REST_ROUTES: E2bRoutes = {
  'POST sandboxes': create,
  'GET sandboxes': list,
  'GET sandboxes/:': info,
  'DELETE sandboxes/:': kill,
  'POST sandboxes/:/connect': connect,
  'POST sandboxes/:/resume': connect,
  'POST sandboxes/:/timeout': setTimeoutOf,
  'POST sandboxes/:/pause': pause,
  'POST sandboxes/:/fork': fork,
  'POST sandboxes/:/snapshots': snapshot,
  'GET sandboxes/:/metrics': metrics,
  'PUT sandboxes/:/network': network,
  'GET snapshots': listSnapshots,
  'DELETE templates/:': deleteSnapshot,
};
