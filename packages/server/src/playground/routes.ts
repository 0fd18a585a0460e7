/** The JSON interface of the playground: one row per operation. Unknown fields of a body are rejected. */

import type { Resolution } from '@llm-wasm-sandbox/core/internal';
import {
  checkpointName,
  executeOptions,
  executionId,
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  languageName,
  parse,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import type { ServerState } from '../server/server-state.ts';
import {
  type ApiCall,
  ApiDispatcher,
  newSessionId,
  type PlaygroundRoutes,
  streamEvents,
} from './api-dispatcher.ts';

const nodeId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

const BODIES = {
  create: z.strictObject({ language: languageName }),
  run: z.strictObject({
    code: z.string(),
    language: languageName,
    fuel_budget: executeOptions.shape.fuel_budget,
  }),
  // The library checks the form of each answer against the calls that are pending.
  resume: z.strictObject({ execution_id: executionId, resolutions: z.array(z.json()).max(1000) }),
  checkpoint: z.strictObject({ name: checkpointName.optional() }),
  node: z.strictObject({ node: nodeId }),
} as const;

const ROUTES: PlaygroundRoutes = {
  'GET info': info,
  'GET sessions': async ({ tenant }) => ({ sessions: await tenant.sessions.list() }),
  'POST sessions': create,
  'DELETE sessions/:': destroy,
  'GET sessions/:/events': async (call) => streamEvents(call, await call.playgroundSession()),
  'GET sessions/:/nodes/:': detail,
  'POST sessions/:/run': run,
  'POST sessions/:/stop': async (call) => ({ stopped: (await call.playgroundSession()).stop() }),
  'POST sessions/:/resume': resume,
  'POST sessions/:/checkpoint': checkpoint,
  'POST sessions/:/rollback': rollback,
  'POST sessions/:/fork': fork,
  'GET sessions/:/variables': variables,
  'GET sessions/:/files': async (call) => ({
    files: await (await call.playgroundSession()).session.listFiles(),
  }),
  'GET sessions/:/file': readFile,
  'PUT sessions/:/file': writeFile,
  'DELETE sessions/:/file': deleteFile,
};

export const createPlayground = (state: ServerState) => new ApiDispatcher(state, ROUTES);

async function info({ playground, tenant }: ApiCall): Promise<object> {
  const languages = LANGUAGE_NAMES.map((name) => ({ name, runtime: LANGUAGE_RUNTIMES[name] }));
  const tools =
    (await playground.state.gateway?.toolset())?.catalog.map(({ name, description }) => ({
      name,
      description,
    })) ?? [];
  return {
    version: playground.state.version,
    languages,
    tools,
    max_fuel_budget: tenant.maximums.fuel_budget,
  };
}

async function create(call: ApiCall): Promise<object> {
  const { language } = await call.body(BODIES.create);
  const { tenant, playground } = call;
  const runtime = LANGUAGE_RUNTIMES[language];
  const { session_id } = await tenant.create({
    language: runtime,
    session_id: newSessionId(runtime),
    policy: {},
  });
  await playground.playgroundSession(tenant, session_id);
  return { session_id };
}

async function destroy({ tenant, playground, params }: ApiCall): Promise<object> {
  await tenant.destroy(params[0]!);
  await playground.forget(tenant, params[0]!);
  return { deleted: true };
}

async function detail(call: ApiCall): Promise<object> {
  const id = parse(nodeId, Number(call.params[1]), 'node');
  return { detail: (await call.playgroundSession()).timeline.detail(id) ?? null };
}

async function run(call: ApiCall): Promise<object> {
  const request = await call.body(BODIES.run);
  const maximum = call.tenant.maximums.fuel_budget;
  if ((request.fuel_budget ?? 0) > maximum)
    throw new SandboxError('invalid_argument', `fuel_budget: the maximum is ${maximum}.`);
  return { node: (await call.playgroundSession()).run(request).id };
}

async function resume(call: ApiCall): Promise<object> {
  const { execution_id, resolutions } = await call.body(BODIES.resume);
  const playgroundSession = await call.playgroundSession();
  const answers = resolutions as unknown as Resolution[];
  return { node: playgroundSession.resume(execution_id, answers).id };
}

async function checkpoint(call: ApiCall): Promise<object> {
  const { name } = await call.body(BODIES.checkpoint);
  return { node: (await (await call.playgroundSession()).checkpoint(name)).id };
}

async function rollback(call: ApiCall): Promise<object> {
  const { node } = await call.body(BODIES.node);
  return { node: (await (await call.playgroundSession()).rollback(node)).id };
}

async function fork(call: ApiCall): Promise<object> {
  const { node } = await call.body(BODIES.node);
  const { tenant, playground, params } = call;
  const playgroundSession = await call.playgroundSession();
  const label = playgroundSession.timeline.node(node)?.label ?? '';
  const { session_id } = (await playgroundSession.fork(node, newSessionId(playgroundSession.session.runtime)))
    .fork;
  await playground.playgroundSession(tenant, session_id, `Branch of ${params[0]}, after: ${label}`);
  return { session_id };
}

async function variables(call: ApiCall): Promise<object> {
  const { session, isIdle } = await call.playgroundSession();
  // The variables of a running program can be read only after it has ended.
  return { variables: isIdle ? await session.variables() : null };
}

function pathOf({ query }: ApiCall): string {
  const path = query.get('path');
  if (path === null || path === '')
    throw new SandboxError('invalid_argument', 'path: expected the path of a file.');
  return path;
}

/** Sends a file as an attachment of a generic type, which browsers do not display or run. */
async function readFile(call: ApiCall): Promise<undefined> {
  const bytes = await (await call.playgroundSession()).session.readFile(pathOf(call));
  call.response
    .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' })
    .end(bytes);
}

async function writeFile(call: ApiCall): Promise<object> {
  const path = pathOf(call);
  const playgroundSession = await call.playgroundSession();
  await playgroundSession.writeFile(path, await call.readBytes());
  return { path };
}

async function deleteFile(call: ApiCall): Promise<object> {
  const path = pathOf(call);
  await (await call.playgroundSession()).deleteFile(path);
  return { path };
}
