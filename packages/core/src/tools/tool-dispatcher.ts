/**
 * The tool calls of one run. Every request comes from a guest and is untrusted: limits, arguments and approval are checked
 * here before a tool is called, and every call is recorded before it is dispatched. No method rejects.
 */
import { randomUUID } from 'node:crypto';
import { untilAborted } from '../concurrency/cancellation.ts';
import { atOnce, finishInSlices, nextTurn } from '../concurrency/slices.ts';
import { formatBytes, formatDuration, formatItems } from '../quantities.ts';
import type { PendingCall, ToolCallRecord } from '../schema/tool-call-record.ts';
import { CallSlots } from './call-slots.ts';
import { checkResultSize, JsonDataError, readArguments, toJson } from './json-data.ts';
import { shownRequest } from './question-text.ts';
import { ToolError } from './tool-error.ts';
import {
  DEFAULT_TOOL_LIMITS,
  MAX_HELD_ARGUMENT_BYTES,
  MAX_TOOL_CALLS,
  PREVIEW_CHARS,
  type ToolLimits,
} from './tool-limits.ts';
import { suggestTools } from './tool-names.ts';
import {
  type ApprovalDecision,
  type BuiltInTool,
  callId,
  denialText,
  errorAnswer,
  failure,
  type Resolution,
  statusOf,
  type ToolAnswer,
  type ToolDispatcherOptions,
  type ToolRequest,
} from './tool-protocol.ts';
import type { OfferedTool, ToolContext, Toolset } from './toolset.ts';

/** A call whose arguments have been accepted. */
interface AcceptedCall {
  readonly id: number;
  readonly record: ToolCallRecord;
  readonly tool: OfferedTool;
  /** Idempotency key. */
  readonly callId: string;
  /** The arguments that the program passed, for approval and `resume`. */
  readonly raw: Record<string, unknown>;
  /** The same, converted by the schema. */
  readonly args: Record<string, unknown>;
  readonly aborter: AbortController;
}

const HELD_BYTES_MESSAGE = `The arguments of the calls of the run that have not ended need more than ${formatBytes(MAX_HELD_ARGUMENT_BYTES)} of memory. Wait for these calls before making others.`;
/** Longer arguments are read in a turn of their own. */
const SMALL_ARGUMENTS = 16 * 1024;
/** Limit on what a suspended call shows in `metadata.pending`, which is stored with the session. */
const MAX_PAYLOAD_BYTES = 64 * 1024;

/** Maximum number of values of an async iterable. Tools of the AI SDK return one for preliminary results; the last value is the result. */
const MAX_ITERATIONS = 100_000;

/** @internal */
export class ToolDispatcher {
  readonly #records: ToolCallRecord[];
  readonly #pending = new Map<number, PendingCall>();
  readonly #ids = new Set<number>();
  readonly #callsByTool = new Map<string, number>();
  readonly #limits: ToolLimits;
  readonly #slots: CallSlots;
  /** Calls that were stopped while the tool ran. */
  readonly #interrupted = new Set<ToolCallRecord>();
  /** The abort controllers of the calls that are being handled, by id. */
  readonly #active = new Map<number, AbortController>();
  readonly #runId: string;
  /** The memory of the arguments of a call. Its users are the call until it is answered, and its tool until it has ended. */
  readonly #held = new Map<ToolCallRecord, { readonly bytes: number; users: number }>();
  #heldBytes = 0;
  #builtInCalls = 0;
  #stopped: ToolError | undefined;

  constructor(
    readonly toolset: Toolset,
    readonly options: ToolDispatcherOptions,
  ) {
    this.#runId = options.runId ?? randomUUID();
    const limits = { ...DEFAULT_TOOL_LIMITS, ...options.limits };
    this.#limits = { ...limits, max_calls: Math.min(limits.max_calls, MAX_TOOL_CALLS) };
    this.#slots = new CallSlots(limits.max_in_flight);
    this.#records = (options.earlier?.records ?? []).map((record) => ({ ...record }));
    for (const { name } of this.#records) {
      this.#count(this.#toolName(name));
      if (this.#isBuiltIn(name)) this.#builtInCalls++;
    }
    const bySeq = new Map(this.#records.map((record) => [record.seq, record]));
    for (const call of options.earlier?.pending ?? []) {
      const record = bySeq.get(call.seq);
      if (record !== undefined) this.#hold(record, record.bytes_in);
      this.#pending.set(call.id, call);
      this.#ids.add(call.id);
    }
    const { signal } = options;
    if (signal?.aborted === true) this.abort('the run was cancelled');
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  #isBuiltIn(name: string): boolean {
    return name === this.options.builtIn?.tool.description.name;
  }

  readonly #onAbort = () => this.abort('the run was cancelled');

  /** The calls so far. Those that are still running have the status `unknown`. */
  get records(): readonly ToolCallRecord[] {
    return this.#records.map((record) => ({ ...record }));
  }

  /** The same without those of the built-in tool. */
  get toolRecords(): readonly ToolCallRecord[] {
    return this.records.filter(({ name }) => !this.#isBuiltIn(name));
  }

  /** The calls that wait for `resolve`. */
  get pending(): readonly PendingCall[] {
    return [...this.#pending.values()];
  }

  /** Stops all calls: aborts the signals of running tools, whose records keep the status `unknown`. */
  abort(reason: string): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = new ToolError(`The call was stopped: ${reason}.`);
    this.options.signal?.removeEventListener('abort', this.#onAbort);
    for (const aborter of this.#active.values()) aborter.abort(this.#stopped);
  }

  /** Stops calls that the program no longer waits for. A tool that has not started is not called. */
  expire(ids: Iterable<number>): void {
    for (const id of ids)
      this.#active
        .get(id)
        ?.abort(new ToolError('The program is no longer waiting for this call.', 'timeout'));
  }

  /** Handles a call of the guest. */
  async call(request: ToolRequest): Promise<ToolAnswer> {
    if (this.#ids.has(request.id))
      return failure('failed', `The call id ${request.id} has already been used.`);
    const isBuiltIn = this.#isBuiltIn(request.name);
    const limit = isBuiltIn ? this.options.builtIn!.maxCalls : this.#limits.max_calls;
    const made = isBuiltIn ? this.#builtInCalls : this.#records.length - this.#builtInCalls;
    if (made >= limit)
      return failure(
        'limit',
        `The run has reached its limit of ${formatItems(limit, isBuiltIn ? 'request' : 'tool call')}.`,
      );
    if (isBuiltIn) this.#builtInCalls++;
    this.#ids.add(request.id);
    const record = this.#addRecord(request);
    const started = performance.now();
    const answer = await this.#handle(request.id, (aborter) => this.#serve(request, record, aborter));
    return this.#end(record, started, answer);
  }

  /** Answers a pending call. With `approve`, the tool is called now; it may suspend the call again. */
  async resolve(resolution: Resolution): Promise<ToolAnswer> {
    const pending = this.#pending.get(resolution.id);
    const record = this.#records.find(({ seq }) => seq === pending?.seq);
    if (pending === undefined || record === undefined)
      return failure('failed', `No call with the id ${resolution.id} is pending.`);
    this.#pending.delete(resolution.id);
    const started = performance.now() - record.duration_ms;
    const answer = await this.#handle(resolution.id, (aborter) =>
      this.#answerOf(pending, record, resolution, aborter),
    );
    return this.#end(record, started, answer);
  }

  /** Makes a call stoppable while `work` determines its answer. */
  async #handle(id: number, work: (aborter: AbortController) => Promise<ToolAnswer>): Promise<ToolAnswer> {
    const aborter = new AbortController();
    if (this.#stopped !== undefined) aborter.abort(this.#stopped);
    this.#active.set(id, aborter);
    const answer = await work(aborter).catch(errorAnswer);
    if (this.#active.get(id) === aborter) this.#active.delete(id);
    return answer;
  }

  async #answerOf(
    pending: PendingCall,
    record: ToolCallRecord,
    resolution: Resolution,
    aborter: AbortController,
  ): Promise<ToolAnswer> {
    if ('error' in resolution) return failure('failed', resolution.error.slice(0, 2000));
    if ('deny' in resolution) {
      const text = denialText(resolution.deny === true ? undefined : resolution.deny);
      if (!this.#isBuiltIn(pending.name)) return failure('denied', text);
      return this.#denied({ tool: this.#find(pending.name), args: pending.arguments }, text);
    }
    if ('value' in resolution) return this.#result(this.toolset.find(pending.name), resolution.value);
    const tool = this.#find(pending.name);
    if (pending.reason !== 'approval')
      throw new ToolError(`The call to ${pending.name} is waiting for a value, not for approval.`);
    const { id, arguments: raw } = pending;
    const call = await this.#accept({ id, record, tool, raw, aborter }, JSON.stringify(raw));
    // It was approved in an earlier resume, which did not end.
    const isRepeated = record.status === 'unknown';
    this.#builtInOf(tool)?.approve(call.args, { isForSession: false, isRepeated });
    return this.#execute(call);
  }

  #addRecord({ name, argumentsJson }: ToolRequest): ToolCallRecord {
    const record: ToolCallRecord = {
      seq: this.#records.length + 1,
      name: this.#toolName(name),
      arguments_preview: argumentsJson.slice(0, PREVIEW_CHARS),
      status: 'unknown',
      duration_ms: 0,
      bytes_in: Buffer.byteLength(argumentsJson),
      bytes_out: 0,
    };
    this.#records.push(record);
    return record;
  }

  async #serve(request: ToolRequest, record: ToolCallRecord, aborter: AbortController): Promise<ToolAnswer> {
    const tool = this.#find(request.name);
    this.#checkCallsOf(tool);
    if (request.problem !== undefined) throw new JsonDataError('arguments', request.problem);
    if (request.argumentsJson.length > SMALL_ARGUMENTS) await nextTurn();
    const maxBytes = this.#isBuiltIn(request.name)
      ? this.options.builtIn!.maxArgumentsBytes
      : this.#limits.max_arguments_bytes;
    const { value, json, heldBytes } = readArguments(request.argumentsJson, maxBytes);
    record.arguments_preview = json.slice(0, PREVIEW_CHARS);
    this.#hold(record, heldBytes);
    const call = await this.#accept({ id: request.id, record, tool, raw: value, aborter }, json);
    return (await this.#approve(call)) ?? this.#execute(call);
  }

  async #accept(call: Omit<AcceptedCall, 'args' | 'callId'>, argumentsJson: string): Promise<AcceptedCall> {
    const args = await this.#checkArguments(call.tool, call.raw, call.aborter.signal);
    return { ...call, args, callId: callId(this.#runId, call.record, argumentsJson) };
  }

  #hold(record: ToolCallRecord, bytes: number): void {
    if (this.#heldBytes + bytes > MAX_HELD_ARGUMENT_BYTES) throw new ToolError(HELD_BYTES_MESSAGE, 'limit');
    this.#heldBytes += bytes;
    this.#held.set(record, { bytes, users: 1 });
  }

  #release(record: ToolCallRecord): void {
    const held = this.#held.get(record);
    if (held === undefined || --held.users > 0) return;
    this.#heldBytes -= held.bytes;
    this.#held.delete(record);
  }

  #find(name: string): OfferedTool {
    const tool = this.#isBuiltIn(name) ? this.options.builtIn!.tool : this.toolset.find(name);
    if (tool !== undefined) return tool;
    const names = this.toolset.catalog.map((described) => described.name);
    const similar = suggestTools(name, names);
    const advice =
      similar.length > 0
        ? `Did you mean ${similar.join(' or ')}?`
        : 'search_tools() lists the available tools.';
    throw new ToolError(`There is no tool "${name.slice(0, PREVIEW_CHARS)}". ${advice}`, 'unknown_tool');
  }

  /** The original name of a tool. A program can also use its path. */
  #toolName(name: string): string {
    return this.toolset.find(name)?.description.name ?? name.slice(0, PREVIEW_CHARS);
  }

  #count(name: string): number {
    const count = (this.#callsByTool.get(name) ?? 0) + 1;
    this.#callsByTool.set(name, count);
    return count;
  }

  #checkCallsOf({ description: { name }, definition: { maxCalls } }: OfferedTool): void {
    if (this.#count(name) > (maxCalls ?? Number.POSITIVE_INFINITY))
      throw new ToolError(`A run may call ${name} at most ${formatItems(maxCalls!, 'time')}.`, 'limit');
  }

  async #checkArguments(
    { input, description }: OfferedTool,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (input === undefined) return args;
    const checked = await untilAborted(input.check(args), signal);
    if ('problem' in checked)
      throw new ToolError(`${description.name}: ${checked.problem}`.slice(0, 2000), 'invalid_arguments');
    return checked.value as Record<string, unknown>;
  }

  // ---- approval ----

  /** Returns undefined if the tool may be called. */
  async #approve(call: AcceptedCall): Promise<ToolAnswer | undefined> {
    if (!(await this.#needsApproval(call))) return undefined;
    const decision = await this.#decide(call);
    const { approved, reason, ...scope } =
      typeof decision === 'object' ? decision : { approved: decision, reason: undefined };
    const isForSession = 'for' in scope && scope.for === 'session';
    if (approved === true)
      this.#builtInOf(call.tool)?.approve(call.args, { isForSession, isRepeated: false });
    if (approved === true) return undefined;
    if (approved === false) return this.#denied(call, denialText(reason), isForSession);
    const { cannotPause } = this.options;
    if (cannotPause === undefined) return this.#wait(call, 'approval');
    const fact = 'The call needs the approval of a person, which cannot be requested now';
    return this.#denied(call, `${fact}. The program cannot pause, because ${cannotPause}.`);
  }

  #builtInOf({ description }: OfferedTool): BuiltInTool | undefined {
    return this.#isBuiltIn(description.name) ? this.options.builtIn : undefined;
  }

  #denied(
    { tool, args }: Pick<AcceptedCall, 'tool' | 'args'>,
    text: string,
    isForSession = false,
  ): ToolAnswer {
    const builtIn = this.#builtInOf(tool);
    if (builtIn === undefined) return failure('denied', text);
    return { type: 'value', json: JSON.stringify(builtIn.refuse(args, text, isForSession)) };
  }

  async #needsApproval({ tool: { definition }, args, aborter }: AcceptedCall): Promise<boolean> {
    const { needsApproval = false } = definition;
    if (typeof needsApproval === 'boolean') return needsApproval;
    // Any value except false requires approval, and an error fails the call.
    const needed = Promise.resolve(needsApproval(args, { messages: [] }));
    return (await untilAborted(needed, aborter.signal)) !== false;
  }

  async #decide(call: AcceptedCall): Promise<ApprovalDecision> {
    const { record, tool, raw, aborter, callId: call_id } = call;
    const { onApproval, sessionId } = this.options;
    if (onApproval === undefined) return undefined;
    const { signal } = aborter;
    signal.throwIfAborted();
    const request = {
      call_id,
      seq: record.seq,
      name: tool.description.name,
      arguments: JSON.parse(
        JSON.stringify(this.#builtInOf(tool) === undefined ? raw : shownRequest(raw)),
      ) as Record<string, unknown>,
      session_id: sessionId,
      signal,
    };
    try {
      // Functions without types can return null.
      return (await untilAborted(Promise.resolve(onApproval(request)), signal)) ?? undefined;
    } catch (cause) {
      if (cause instanceof ToolError) throw cause;
      throw new ToolError('The call was not approved, because onApproval failed.', 'denied');
    }
  }

  /** Leaves the call unanswered. */
  #wait(call: AcceptedCall, reason: 'approval' | 'suspended', payload?: unknown): ToolAnswer {
    const { id, record, tool, raw, aborter } = call;
    aborter.signal.throwIfAborted();
    const data = payload === undefined ? undefined : JSON.parse(atOnce(toJson(payload, MAX_PAYLOAD_BYTES)));
    const name = tool.description.name;
    const args = raw as PendingCall['arguments'];
    this.#pending.set(id, {
      id,
      seq: record.seq,
      name,
      arguments: args,
      reason,
      ...(data !== undefined && { payload: data }),
    });
    return { type: 'pending', reason, ...(data !== undefined && { payload: data }) };
  }

  // ---- execution ----

  async #execute(call: AcceptedCall): Promise<ToolAnswer> {
    const { definition, description } = call.tool;
    const isLeft = this.options.leavesUnanswered === true && !this.#isBuiltIn(description.name);
    if (definition.execute === undefined || isLeft) return this.#suspended(call, undefined);
    const { signal } = call.aborter;
    await this.#slots.enter(signal);
    const timeoutMs = definition.timeoutMs ?? this.#limits.call_timeout_ms;
    const timer = setTimeout(() => {
      const text = `${description.name} did not answer within ${formatDuration(timeoutMs)}.`;
      call.aborter.abort(new ToolError(`${text} The call may or may not have taken effect.`, 'timeout'));
    }, timeoutMs);
    const suspension: { payload?: { readonly value: unknown } } = {};
    const hasStarted = !signal.aborted;
    try {
      const value = await untilAborted(this.#start(call, suspension), signal);
      if (suspension.payload !== undefined) return this.#suspended(call, suspension.payload.value);
      return await untilAborted(this.#result(call.tool, value), signal);
    } catch (cause) {
      if (suspension.payload !== undefined && !signal.aborted)
        return this.#suspended(call, suspension.payload.value);
      if (hasStarted && signal.aborted) this.#interrupted.add(call.record);
      throw cause;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs the tool. It keeps its slot and the memory of its arguments until it has ended, even if the program withdraws the call. */
  #start(call: AcceptedCall, suspension: { payload?: { value: unknown } }): Promise<unknown> {
    const { signal } = call.aborter;
    const work = signal.aborted
      ? Promise.reject(signal.reason)
      : runTool(call.tool, call.args, this.#context(call, suspension));
    const held = this.#held.get(call.record);
    if (held !== undefined) held.users++;
    const end = () => {
      this.#slots.leave();
      this.#release(call.record);
    };
    work.then(end, end);
    return work;
  }

  #context(call: AcceptedCall, suspension: { payload?: { value: unknown } }): ToolContext {
    const { signal } = call.aborter;
    const { callId: call_id } = call;
    const { seq } = call.record;
    const suspend = (payload?: unknown): never => {
      suspension.payload = { value: payload };
      throw new ToolError('The call is suspended.');
    };
    const session_id = this.options.sessionId;
    return {
      signal,
      call_id,
      seq,
      session_id,
      suspend,
      toolCallId: call_id,
      abortSignal: signal,
      messages: [],
    };
  }

  #suspended(call: AcceptedCall, payload: unknown): ToolAnswer {
    const { cannotPause } = this.options;
    if (cannotPause === undefined) return this.#wait(call, 'suspended', payload);
    const fact = `${call.tool.description.name} cannot answer now`;
    throw new ToolError(`${fact}. The program cannot pause, because ${cannotPause}.`);
  }

  async #result(tool: OfferedTool | undefined, value: unknown): Promise<ToolAnswer> {
    let data = value;
    if (tool?.output !== undefined) {
      // A schema may convert the value, so the limits apply before and after the check.
      checkResultSize(value, this.#limits.max_result_bytes);
      const checked = await tool.output.check(value);
      if ('problem' in checked)
        throw new ToolError(
          `The result of ${tool.description.name} does not match its schema: ${checked.problem}`.slice(
            0,
            2000,
          ),
        );
      data = checked.value;
    }
    return { type: 'value', json: await finishInSlices(toJson(data, this.#limits.max_result_bytes)) };
  }

  #end(record: ToolCallRecord, started: number, answer: ToolAnswer): ToolAnswer {
    if (answer.type !== 'pending') this.#release(record);
    record.duration_ms = Math.round((performance.now() - started) * 10) / 10;
    record.status = this.#interrupted.has(record) ? 'unknown' : statusOf(answer);
    if (answer.type === 'value') record.bytes_out = Buffer.byteLength(answer.json);
    return answer;
  }
}

/** Runs a tool and returns its result. */
async function runTool({ definition }: OfferedTool, args: unknown, context: ToolContext): Promise<unknown> {
  const result: unknown = await definition.execute!(args, context);
  const iterator = (result as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator];
  if (typeof iterator !== 'function') return result;
  let last: unknown;
  let count = 0;
  for await (const value of result as AsyncIterable<unknown>) {
    last = value;
    if (context.signal.aborted || ++count > MAX_ITERATIONS) break;
  }
  return last;
}
