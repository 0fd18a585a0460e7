/**
 * The code interpreter of E2B: runs programs in contexts and streams what they produce, one JSON value per line. A program
 * can write anything, but not a line of its own: every line is encoded as ASCII JSON here.
 */

import type { SandboxResult, Session } from '@llm-wasm-sandbox/core/internal';
import {
  type DisplayResult,
  LANGUAGE_NAMES,
  LANGUAGES,
  type LanguageName,
  languageOfFile,
  missingFolders,
  policy,
  runtimeOf,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError, quoted } from '../server/http-error.ts';
import { cellProgram } from '../server/notebook-code.ts';
import { displayedForms, programFailure } from '../server/program-outcome.ts';
import { ResponseStream } from '../server/response-stream.ts';
import { checkedBody, encodedJson, respond } from '../server/rest-call.ts';
import type { E2bCall, E2bHandler, E2bRoutes } from './e2b-call.ts';
import { behindLinks, homePath, relativePath } from './file-paths.ts';
import type { ContextRecord, SandboxRecord } from './sandbox-records.ts';
import { findContext } from './sandboxes.ts';

/** The language with this name or extension. Throws `invalid_argument`. */
function languageOf(name: string | undefined): LanguageName {
  if (name === undefined) return runtimeOf(undefined);
  // Extensions of files are short names.
  const known = LANGUAGE_NAMES.find((one) => one === name) ?? languageOfFile(`program.${name}`);
  if (known !== undefined) return known;
  throw new SandboxError(
    'invalid_argument',
    `language: ${quoted(name)} is not available. Use one of ${LANGUAGE_NAMES.join(', ')}.`,
  );
}

const FORMATS = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'latex', 'json', 'data', 'chart'] as const;

/** The forms of a displayed value, by format. */
async function formsByFormat(
  result: DisplayResult,
  session: Session,
): Promise<Partial<Record<(typeof FORMATS)[number], unknown>>> {
  const { text, ...forms } = await displayedForms(result, session);
  const shown = { ...forms, ...(text !== undefined && { text: withoutQuotes(text) }) };
  return Object.fromEntries(FORMATS.flatMap((one) => (shown[one] === undefined ? [] : [[one, shown[one]]])));
}

/** The text of a value. E2B shows strings without the quotes of their representation. */
const withoutQuotes = (text: string) =>
  /^(['"]).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text;

/** The response starts after this time, so that clients know that the program has been accepted. */
const HEAD_MS = 1000;

const BODIES = {
  execute: z.object({
    code: z.string(),
    context_id: z.string().max(100).nullish(),
    language: z.string().max(100).nullish(),
    env_vars: policy.shape.env.nullish(),
  }),
  context: z.object({ language: z.string().max(100).nullish(), cwd: z.string().max(4096).nullish() }),
} as const;

/** SDKs decode each chunk of a response by itself, and a chunk can end within a character. */
const LINE = { end: '\n', isAscii: true };

/** The lines of a response. The status is sent with the first line, or after a while. */
class LineStream {
  readonly #stream: ResponseStream;
  readonly #timer: NodeJS.Timeout;

  constructor(readonly call: E2bCall) {
    this.#stream = new ResponseStream(call.response, 'application/x-ndjson');
    this.#timer = setTimeout(() => this.#stream.start(), HEAD_MS).unref();
  }

  send(line: object): void {
    void this.#stream.send(() => encodedJson(line, this.call.nextSlice, LINE));
  }

  end(): Promise<void> {
    this.abandon();
    return this.#stream.end();
  }

  abandon(): void {
    clearTimeout(this.#timer);
  }
}

/** Programs of one context that wait for another one. */
const MAX_WAITING = 100;

const execute: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller, signal } = call;
  const { code, context_id, language, env_vars } = await checkedBody(call, BODIES.execute);
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  const context = await contextOf(call, record, context_id, language);
  const [owner, session] = await Promise.all([
    sandboxes.owner(tenant, record),
    sandboxes.session(tenant, record, context),
  ]);
  const lines = new LineStream(call);
  try {
    const name = languageOf(language ?? context.language);
    const program = cellProgram(code, session.runtime);
    let count = 0;
    const run = async (cancelled: AbortSignal) => {
      const result = await session.execute(program, {
        language: name,
        file_name: null,
        env: env_vars ?? {},
        signal: cancelled,
        onStdout: (text) => lines.send({ type: 'stdout', text, timestamp: new Date().toISOString() }),
        onStderr: (text) => lines.send({ type: 'stderr', text, timestamp: new Date().toISOString() }),
      });
      count = session.session.calls;
      return result;
    };
    using active = tenant.calls.begin(record.sandbox_id, signal);
    const result = await session.withFilesOf(
      () => owner,
      () => withVariables(session, env_vars ?? {}, () => run(active.signal)),
      MAX_WAITING,
    );
    await sendResult(lines, result, session, count);
  } catch (cause) {
    lines.abandon();
    throw cause;
  }
};

/** Runs a program and removes the variables of its call that the sandbox does not have. Others are set again by the next call. */
async function withVariables<T>(
  session: Session,
  env: Readonly<Record<string, string>>,
  run: () => Promise<T>,
): Promise<T> {
  const added = Object.keys(env).filter((name) => !Object.hasOwn(session.policy.env, name));
  try {
    return await run();
  } finally {
    const { unsetVariable } = LANGUAGES[session.runtime];
    if (added.length > 0) await session.execute(added.map(unsetVariable).join('\n'));
  }
}

async function contextOf(
  { tenant, sandboxes }: E2bCall,
  record: SandboxRecord,
  context_id: string | null | undefined,
  language: string | null | undefined,
): Promise<ContextRecord> {
  if (!context_id) return sandboxes.defaultContext(tenant, record, languageOf(language ?? undefined));
  if (language) throw new HttpError(400, 'Pass either language or context, not both');
  return findContext(record, context_id);
}

async function sendResult(
  lines: LineStream,
  result: SandboxResult,
  session: Session,
  count: number,
): Promise<void> {
  for (const one of result.results) {
    const forms = await formsByFormat(one, session);
    lines.send({ ...forms, type: 'result', is_main_result: one.is_main_result });
  }
  const error = programFailure(result);
  if (error !== undefined) {
    const { name, value, traceback } = error;
    lines.send({ type: 'error', name, value, traceback });
  }
  lines.send({ type: 'number_of_executions', execution_count: count });
  lines.send({ type: 'end_of_execution' });
  await lines.end();
}

const described = ({ id, language, cwd }: ContextRecord) => ({ id, language, cwd: homePath(cwd ?? '') });

const createContext: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller } = call;
  const { language, cwd } = await checkedBody(call, BODIES.context);
  const name = languageOf(language ?? undefined);
  const folder = relativePath(cwd ?? '', 400);
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  if (folder !== '') {
    const owner = await sandboxes.owner(tenant, record);
    await owner.editFiles((tree) => ({
      removed: [],
      entries: missingFolders(tree, behindLinks(tree, folder)),
    }));
  }
  const context = await sandboxes.addContext(tenant, record.sandbox_id, { language: name, cwd: folder });
  await respond(call, 200, described(context));
};

const listContexts: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller } = call;
  const { contexts } = await sandboxes.running(tenant, caller.sandbox_id!);
  await respond(call, 200, contexts.map(described));
};

const removeContext: E2bHandler = async ({ tenant, sandboxes, caller, params, response }) => {
  const { sandbox_id } = await sandboxes.running(tenant, caller.sandbox_id!);
  await sandboxes.removeContext(tenant, sandbox_id, params[0]!);
  response.writeHead(204).end();
};

const restartContext: E2bHandler = async ({ tenant, sandboxes, caller, params, response }) => {
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  const session = await sandboxes.session(tenant, record, findContext(record, params[0]!));
  // After the programs that wait.
  await session.withFilesOf(
    () => session,
    () => session.restart(),
  );
  response.writeHead(204).end();
};

export const CODE_ROUTES: E2bRoutes = {
  'POST execute': execute,
  'POST contexts': createContext,
  'GET contexts': listContexts,
  'DELETE contexts/:': removeContext,
  'POST contexts/:/restart': restartContext,
};
