/**
 * The tool calls of one process of a run. The worker limits what a guest can send and how long it can wait; the main thread
 * approves and executes the calls. The number of calls whose answers the guest has not taken is limited, so that neither
 * arguments nor results accumulate outside the memory of the guest. Child processes can only send requests.
 */
import type { Guest } from '../../engine/guest.ts';
import { syscallError } from '../../kernel/syscall-error.ts';
import type { ToolChannel } from '../../kernel/tool-channel.ts';
import { formatItems } from '../../quantities.ts';
import { JsonDataError, readArguments, type ToolArguments } from '../../tools/json-data.ts';
import {
  MAX_CALLED_NAME_CHARACTERS,
  MAX_IN_FLIGHT_ARGUMENT_BYTES,
  MAX_REASON_CHARACTERS,
  NETWORK_CALLS,
  PREVIEW_CHARS,
} from '../../tools/tool-limits.ts';
import type { ToolAnswer } from '../../tools/tool-protocol.ts';
import { describeTool, searchTools } from '../../tools/tool-search.ts';
import type { ToolDescription } from '../../tools/toolset.ts';
import { CONTROL } from '../protocol/control-block.ts';
import type { JobTools } from '../protocol/messages.ts';
import type { HostRequests } from './host-requests.ts';

/** Calls beyond the limit of the run that are still sent to the main thread, so that it can record them. */
const RECORDED_REFUSALS = 16;
/** Maximum size of the arguments of all calls that wait for an external decision. They are stored with a paused program. */
const MAX_PENDING_BYTES = 1024 * 1024;
const MAX_QUERY_CHARACTERS = 1000;
/** Host time of searching or describing, in microseconds per tool. */
const SEARCH_US_PER_TOOL = 10;
const FUEL_PER_US = 1000;
/** Work of the main thread for a call in microseconds: for every call, per byte and per member of its arguments. */
const CALL_US = 50;
const BYTE_US = 0.02;
const MEMBER_US = 1;

interface Catalog {
  readonly text: string;
  readonly tools: readonly ToolDescription[];
  /** `[name, path]` of every tool as JSON. */
  readonly names: string;
}

const NO_CATALOG: Catalog = { text: '[]', tools: [], names: '[]' };
const NETWORK_NAMES: readonly string[] = Object.values(NETWORK_CALLS);

/** The last catalogue that was read. Most runs of a thread have the same tools. */
let lastCatalog: Catalog | undefined;

function readCatalog(text: string): Catalog {
  if (lastCatalog?.text === text) return lastCatalog;
  const tools = JSON.parse(text) as readonly ToolDescription[];
  lastCatalog = { text, tools, names: JSON.stringify(tools.map(({ name, path }) => [name, path])) };
  return lastCatalog;
}

interface SentCall {
  /** The number that the guest chose. */
  readonly id: number;
  /** The number that is unique in the execution. */
  readonly sentId: number;
  readonly bytes: number;
  /** Memory that the main thread needs for the arguments. */
  readonly heldBytes: number;
  /** The response that the call reads. */
  readonly handle?: number;
}

/** What the processes of a run use together. */
interface CallUsage {
  calls: number;
  requests: number;
  waitedMs: number;
  /** Calls of child processes. Their numbers are negative, so that they differ from those of the program of the run. */
  childCalls: number;
}

/** Arguments that have been read, or what is wrong with them. */
type ReadArguments = Pick<ToolArguments, 'json' | 'heldBytes'> & { readonly problem?: string };

const status = (name: 'timeout' | 'interrupted' | 'idle' | 'paused') => `{"status":"${name}"}`;

/** The number of the response in the answer to a request; it comes last. Undefined if the response has ended. */
function handleIn(json: string): number | undefined {
  const found = /"handle":(\d{1,15})\}$/.exec(json.slice(-32));
  return found === null ? undefined : Number(found[1]);
}

const CHILD_CANNOT_PAUSE =
  'The request needs the approval of a person, and a child process cannot pause. Trying again will not help.';

const errorAnswer = (id: number, code: string, message: string) => JSON.stringify({ id, code, message });

export class GuestToolCalls implements ToolChannel {
  readonly names: string;
  readonly hasNetwork: boolean;
  isPaused = false;
  readonly #usage: CallUsage;
  readonly #isChild: boolean;
  /** The responses that a child process has not read to their ends. */
  readonly #responses = new Set<number>();
  readonly #catalog: readonly ToolDescription[];
  /** Calls in flight by the number of their request. */
  readonly #inFlight = new Map<number, SentCall>();
  /** Calls that wait for an external decision. */
  readonly #pending = new Map<number, SentCall>();
  /** Answers that the guest has not taken. */
  readonly #ready: string[] = [];
  #lastId = 0;
  #pendingBytes = 0;
  #inFlightBytes = 0;
  /** The arguments of a call that had to wait, so that they are read once. */
  #waiting: { readonly text: string; readonly args: ReadArguments } | undefined;

  constructor(
    readonly run: { readonly requests: HostRequests; readonly job: number },
    readonly guest: Guest,
    readonly limits: JobTools,
    parentUsage?: CallUsage,
  ) {
    const { requests, job } = run;
    this.#isChild = parentUsage !== undefined;
    this.#usage = parentUsage ?? {
      calls: limits.usedCalls,
      requests: limits.network?.usedRequests ?? 0,
      waitedMs: 0,
      childCalls: 0,
    };
    this.hasNetwork = limits.network !== undefined;
    const { tools, names } = this.#isChild ? NO_CATALOG : readCatalog(limits.catalog);
    this.#catalog = tools;
    this.names = names;
    for (const call of this.#isChild ? [] : (limits.resumed ?? [])) {
      this.#lastId = Math.max(this.#lastId, call.id);
      const number = requests.post(job, { type: 'tool_resume', id: call.id });
      this.#inFlight.set(number, { ...call, sentId: call.id, heldBytes: 0 });
    }
  }

  /** The requests of a child process, which count like those of the program of the run. Undefined if it may send none. */
  forChild(guest: Guest): GuestToolCalls | undefined {
    if (!this.hasNetwork) return undefined;
    return new GuestToolCalls(this.run, guest, this.limits, this.#usage);
  }

  /** Time that the run has waited for tools. */
  get waitedMs(): number {
    return this.#usage.waitedMs;
  }

  call(id: number, name: string, argumentsJson: string): void {
    this.isPaused = false;
    // Ids increase, so that none is used twice.
    if (!Number.isSafeInteger(id) || id <= this.#lastId || name.length > MAX_CALLED_NAME_CHARACTERS)
      throw syscallError('EINVAL');
    if (this.#isChild && !NETWORK_NAMES.includes(name)) throw syscallError('ENOSYS');
    if (this.#inFlight.size + this.#ready.length >= this.limits.maxInFlight) throw syscallError('EAGAIN');
    if (
      this.limits.network !== undefined &&
      name !== NETWORK_CALLS.request &&
      this.#controlsResponse(id, name, argumentsJson)
    )
      return;
    const args = this.#argumentsOf(name, argumentsJson);
    if (this.#inFlight.size > 0 && this.#inFlightBytes + args.heldBytes > MAX_IN_FLIGHT_ARGUMENT_BYTES) {
      this.#waiting = { text: argumentsJson, args };
      throw syscallError('EAGAIN');
    }
    this.#waiting = undefined;
    this.#lastId = id;
    const refusal = this.#count(name);
    if (refusal !== undefined) {
      this.#ready.push(errorAnswer(id, 'limit', refusal));
      return;
    }
    const { json, heldBytes, problem } = args;
    const sentId = this.#isChild ? -++this.#usage.childCalls : id;
    const request = { type: 'tool_call', id: sentId, name, arguments: json, problem } as const;
    const number = this.run.requests.post(this.run.job, request);
    this.#inFlight.set(number, { id, sentId, bytes: json.length, heldBytes });
    this.#inFlightBytes += heldBytes;
  }

  /** Counts a call. Returns why it is refused without asking the main thread. */
  #count(name: string): string | undefined {
    const { maxCalls, network } = this.limits;
    if (network !== undefined && name === NETWORK_CALLS.request) {
      if (++this.#usage.requests <= network.maxRequests + RECORDED_REFUSALS) return undefined;
      return `the program has made ${formatItems(network.maxRequests, 'request')}, which is its limit`;
    }
    if (++this.#usage.calls <= maxCalls + RECORDED_REFUSALS) return undefined;
    return `the run has reached its limit of ${formatItems(maxCalls, 'tool call')} (max_tool_calls)`;
  }

  /** Reads or closes a response, whose number is the argument. Returns false for other calls. */
  #controlsResponse(id: number, name: string, argument: string): boolean {
    if (name !== NETWORK_CALLS.read && name !== NETWORK_CALLS.close) return false;
    const handle = argument.length <= 16 ? Number(argument) : Number.NaN;
    if (!Number.isSafeInteger(handle) || handle < 0) throw syscallError('EINVAL');
    if (this.#isChild && !this.#responses.has(handle)) throw syscallError('EINVAL');
    this.#charge(CALL_US);
    this.#lastId = id;
    if (name === NETWORK_CALLS.close) {
      this.#responses.delete(handle);
      this.run.requests.notify(this.run.job, { type: 'network_close', handle });
      this.#ready.push(`{"id":${id},"value":null}`);
      return true;
    }
    const number = this.run.requests.post(this.run.job, { type: 'network_read', handle });
    this.#inFlight.set(number, { id, sentId: id, bytes: 0, heldBytes: 0, handle });
    return true;
  }

  /** Reads and charges arguments here, so that the main thread receives only what is within its limits and paid for. */
  #argumentsOf(name: string, text: string): ReadArguments {
    if (this.#waiting?.text === text) return this.#waiting.args;
    const { network, maxArgumentBytes } = this.limits;
    const maxBytes =
      name === NETWORK_CALLS.request ? (network?.maxArgumentBytes ?? maxArgumentBytes) : maxArgumentBytes;
    this.#charge(CALL_US + Math.min(text.length, maxBytes) * BYTE_US);
    try {
      const { json, heldBytes, members } = readArguments(text, maxBytes);
      this.#charge(members * MEMBER_US);
      return { json, heldBytes };
    } catch (cause) {
      if (!(cause instanceof JsonDataError)) throw cause;
      return { json: text.slice(0, PREVIEW_CHARS), heldBytes: 0, problem: cause.message };
    }
  }

  /** A program that has no fuel left ends when it continues. */
  #charge(microseconds: number): void {
    this.guest.charge(Math.ceil(microseconds * FUEL_PER_US));
    this.guest.kernel.chargeHostTime(microseconds);
    if (this.guest.limitReached !== undefined) throw syscallError('EINTR');
  }

  #forget(number: number): void {
    this.#inFlightBytes -= this.#inFlight.get(number)?.heldBytes ?? 0;
    this.#inFlight.delete(number);
  }

  wait(milliseconds: number): string {
    this.isPaused = false;
    this.guest.kernel.chargeHostTime(5);
    const duration = Number.isNaN(milliseconds) ? 0 : Math.max(0, milliseconds);
    return this.#take() ?? this.#wait(duration);
  }

  #wait(duration: number): string {
    const { guest } = this;
    const isForever = duration === Number.POSITIVE_INFINITY;
    if (this.#inFlight.size === 0) {
      if (!isForever) return this.#sleep(duration);
      if (this.#pending.size === 0) return status('idle');
      this.isPaused = true;
      return status('paused');
    }
    if (duration === 0 && !guest.isDeterministic) return status('timeout');
    const left = this.limits.maxWaitMs - this.waitedMs;
    // Virtual time does not pass while a tool works, so even a program that only looks for answers waits for the next one.
    const wanted = guest.isDeterministic ? Number.POSITIVE_INFINITY : duration;
    let answer: string | undefined;
    const isDone = () => {
      answer = this.#take();
      return answer !== undefined || this.#inFlight.size === 0;
    };
    const startMs = performance.now();
    try {
      guest.waitOutside(this.run.requests.control, CONTROL.answers, isDone, Math.min(left, wanted));
    } finally {
      // Also if the guest is stopped while it waits.
      this.#usage.waitedMs += performance.now() - startMs;
    }
    if (answer !== undefined) return answer;
    if (guest.limitReached !== undefined) return status('interrupted');
    if (this.#inFlight.size === 0) return isForever ? this.#wait(duration) : status('timeout');
    if (this.waitedMs < this.limits.maxWaitMs) return status('timeout');
    this.#expire();
    return this.#take()!;
  }

  #sleep(duration: number): string {
    this.guest.sleep(duration);
    return status(this.guest.limitReached === undefined ? 'timeout' : 'interrupted');
  }

  /** Answers all calls in flight with an error, because the run has reached its wait limit. */
  #expire(): void {
    const calls = [...this.#inFlight];
    this.#inFlight.clear();
    this.#inFlightBytes = 0;
    const seconds = this.limits.maxWaitMs / 1000;
    const reason = `the run has waited ${seconds} s for tools and requests, which is its limit (max_wait_seconds)`;
    for (const [number, { id }] of calls) {
      this.run.requests.forget(number);
      this.#ready.push(errorAnswer(id, 'timeout', reason));
    }
    this.#withdraw(
      calls.filter(([, { handle }]) => handle === undefined).map(([, { sentId }]) => sentId),
      reason,
    );
  }

  /**
   * The next answer for the guest. Calls that wait for an external decision become pending. A deterministic run gets the answers
   * in the order of the calls: the order in which they arrive depends on the host.
   */
  #take(): string | undefined {
    for (const [number, call] of this.#inFlight) {
      if (this.#ready.length > 0) break;
      const answer = this.run.requests.take(number)?.tool;
      if (answer === undefined && this.guest.isDeterministic) break;
      if (answer === undefined) continue;
      this.#forget(number);
      if (answer.type === 'pending') this.#markPending(call);
      else this.#ready.push(toText(call.id, answer));
      if (this.#isChild && answer.type === 'value') this.#noteResponse(call, answer.json);
    }
    return this.#ready.shift();
  }

  #noteResponse({ handle: read }: SentCall, json: string): void {
    const handle = handleIn(json);
    if (read !== undefined) this.#responses.delete(read);
    if (handle !== undefined) this.#responses.add(handle);
  }

  #markPending(call: SentCall): void {
    if (this.#isChild) {
      this.#withdraw([call.sentId], CHILD_CANNOT_PAUSE);
      this.#ready.push(errorAnswer(call.id, 'denied', CHILD_CANNOT_PAUSE));
      return;
    }
    if (this.#pendingBytes + call.bytes <= MAX_PENDING_BYTES) {
      this.#pending.set(call.id, call);
      this.#pendingBytes += call.bytes;
      return;
    }
    const reason = `the arguments of all calls that wait for an answer are limited to ${MAX_PENDING_BYTES} bytes in total`;
    this.#withdraw([call.sentId], reason);
    this.#ready.push(errorAnswer(call.id, 'limit', reason));
  }

  withdraw(id: number, reason: string): void {
    this.isPaused = false;
    const pending = this.#pending.get(id);
    const [number, sent] = [...this.#inFlight].find(([, call]) => call.id === id) ?? [];
    const call = pending ?? sent;
    if (call === undefined) return;
    if (number !== undefined) this.run.requests.forget(number);
    this.#forget(number ?? 0);
    this.#pending.delete(id);
    this.#pendingBytes -= pending?.bytes ?? 0;
    if (call.handle === undefined) this.#withdraw([call.sentId], reason.slice(0, MAX_REASON_CHARACTERS));
  }

  #withdraw(ids: readonly number[], reason: string): void {
    this.run.requests.notify(this.run.job, { type: 'tool_withdraw', ids, reason });
  }

  /** Drops the answers that have not arrived. The program has ended or is paused; the requests of a child process end with it. */
  close(): void {
    for (const number of this.#inFlight.keys()) this.run.requests.forget(number);
    if (!this.#isChild) return;
    const ids = [...this.#inFlight.values()].filter(({ handle }) => handle === undefined);
    if (ids.length > 0)
      this.#withdraw(
        ids.map(({ sentId }) => sentId),
        'the child process has ended',
      );
    for (const handle of this.#responses)
      this.run.requests.notify(this.run.job, { type: 'network_close', handle });
  }

  search(query: string, limit: number): string {
    this.#chargeSearch();
    return JSON.stringify(searchTools(this.#catalog, query.slice(0, MAX_QUERY_CHARACTERS), limit));
  }

  describe(name: string): string {
    this.#chargeSearch();
    return JSON.stringify(describeTool(this.#catalog, name.slice(0, MAX_CALLED_NAME_CHARACTERS)) ?? null);
  }

  #chargeSearch(): void {
    this.guest.kernel.chargeHostTime(50 + this.#catalog.length * SEARCH_US_PER_TOOL);
  }
}

function toText(id: number, answer: Exclude<ToolAnswer, { readonly type: 'pending' }>): string {
  return answer.type === 'value'
    ? `{"id":${id},"value":${answer.json}}`
    : errorAnswer(id, answer.code, answer.message);
}
