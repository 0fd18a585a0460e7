/**
 * The requests of one program. The broker runs on the main thread and is the only part that sends anything: it decides with the
 * rules, counts against the limits, and records every request before it is sent. No method rejects.
 */
import { formatBytes, formatDuration, formatItems } from '../quantities.ts';
import { hrefOf } from '../schema/url-pattern.ts';
import type { NetworkExchange, NetworkLimits } from '../schema.ts';
import { NetworkError, NOT_SENT, toNetworkError } from './network-error.ts';
import {
  approvedRule,
  isPrivateHost,
  MissingRuleError,
  type NetworkRules,
  type PermittingRule,
} from './network-rules.ts';
import type { ProgramRecording, RecordedExchange } from './recording.ts';
import { type RequestApprovals, refusedByPerson } from './request-approvals.ts';
import { announcedLength, type BodyPiece, byteLimit, decodeBody, ResponseBody } from './response-body.ts';
import type { Secrets } from './secrets.ts';
import type { Transport, WireResponse } from './transport.ts';
import { describeRequest, toWireRequest, type WireRequest } from './wire-request.ts';

/** Responses whose bodies a program has not read. */
const MAX_OPEN = 64;

/** What a program receives, as JSON data. */
export type NetworkAnswer =
  | { readonly error: { readonly kind: string; readonly message: string } }
  | {
      readonly status?: number;
      readonly reason?: string;
      readonly headers?: readonly (readonly [string, string])[];
      readonly url?: string;
      /** The next bytes of the body in base64. */
      readonly body: string;
      /** Number of the response, for `read`; absent at the end of the body. */
      readonly handle?: number;
    };

interface BrokerOptions {
  readonly rules: NetworkRules;
  readonly limits: NetworkLimits;
  readonly transport: Transport;
  readonly recorder?: ProgramRecording | undefined;
  readonly secrets: Secrets;
  /** Undefined if nobody is asked about requests that no rule permits. */
  readonly approvals?: RequestApprovals | undefined;
  /** The requests of a resumed program before its pause. */
  readonly earlier?: readonly NetworkExchange[] | undefined;
  /** Whether pieces of bodies must not depend on the network. */
  readonly isRepeatable: boolean;
}

/** What an approval is about: all further requests like this one, and one that may have been sent before. */
interface ApprovalScope {
  readonly isForSession: boolean;
  readonly isRepeated: boolean;
}

/** A request whose response has not ended. */
class Exchange {
  readonly aborter = new AbortController();
  readonly aborted: Promise<never>;
  readonly #startedMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  body: ResponseBody | undefined;

  constructor(
    readonly record: NetworkExchange,
    readonly recorded: RecordedExchange | undefined,
    timeoutMs: number,
  ) {
    this.aborted = new Promise((_, reject) => {
      this.aborter.signal.addEventListener('abort', () => reject(this.aborter.signal.reason), { once: true });
    });
    this.aborted.catch(() => {});
    this.#timer = setTimeout(() => {
      this.aborter.abort(
        new NetworkError('timeout', `the request took longer than ${formatDuration(timeoutMs)}`),
      );
    }, timeoutMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.record.duration_ms = Math.round((performance.now() - this.#startedMs) * 10) / 10;
    this.recorded?.end();
  }

  fail(cause: unknown): NetworkError {
    const reason = this.aborter.signal.aborted ? this.aborter.signal.reason : cause;
    const error = toNetworkError(reason);
    this.record.outcome =
      NOT_SENT.includes(error.kind) && this.record.status === undefined ? 'refused' : 'failed';
    this.record.error = error.message;
    this.recorded?.fail(error);
    this.end();
    this.aborter.abort(error);
    this.body?.cancel();
    return error;
  }
}

const answerOf = ({ kind, message }: NetworkError): NetworkAnswer => ({ error: { kind, message } });

export class NetworkBroker {
  readonly #records: NetworkExchange[] = [];
  readonly #open = new Map<number, Exchange>();
  readonly #active = new Set<Exchange>();
  readonly #requestsOf = new Map<number, number>();
  /** The number of requests before a pause, by the pattern of their rule. */
  readonly #earlierOf = new Map<string, number>();
  /** The arguments of requests that a person has approved, and whether they may have been sent before. */
  readonly #approved = new WeakMap<object, { readonly isRepeated: boolean }>();
  #sentBytes = 0;
  readonly #countDown: (bytes: number) => void;
  readonly #countCompressed: (bytes: number) => void;
  #lastHandle = 0;
  #isFinished = false;

  constructor(readonly options: BrokerOptions) {
    const { bytes_down } = options.limits;
    this.#countDown = byteLimit(bytes_down, 'the program has received');
    this.#countCompressed = byteLimit(bytes_down, 'the program has received');
    for (const record of options.earlier ?? []) this.#countEarlier(record);
  }

  /** Limits continue after a pause. */
  #countEarlier(record: NetworkExchange): void {
    this.#records.push({ ...record });
    const { rule, bytes_up, bytes_down } = record;
    if (rule !== undefined) this.#earlierOf.set(rule, (this.#earlierOf.get(rule) ?? 0) + 1);
    this.#sentBytes += bytes_up;
    try {
      this.#countDown(bytes_down);
    } catch {
      // The next request fails.
    }
  }

  /** The requests so far. */
  get records(): NetworkExchange[] {
    return this.#records.map((record) => ({ ...record }));
  }

  /** Whether a person has to decide about a request. */
  needsApproval(args: Record<string, unknown>): boolean {
    const { approvals, rules } = this.options;
    if (approvals === undefined || this.#records.length >= this.options.limits.requests) return false;
    try {
      const request = toWireRequest(args);
      if (approvals.find(request) !== undefined || isPrivateHost(request.url.host)) return false;
      rules.find(request.method, request.url);
    } catch (cause) {
      return cause instanceof MissingRuleError;
    }
    return false;
  }

  /** Notes that a person has approved a request: only this one, or all with its method and origin. */
  approve(args: Record<string, unknown>, scope: ApprovalScope): void {
    this.#approved.set(args, scope);
    if (scope.isForSession) this.options.approvals?.remember(toWireRequest(args), true);
  }

  /** Records a request that a person has not approved. Returns the answer of the program. */
  refuse(args: Record<string, unknown>, reason: string, isForSession: boolean): NetworkAnswer {
    const { method, url } = describeRequest(args);
    if (isForSession) this.options.approvals?.remember(toWireRequest(args), false);
    const error = new NetworkError(
      'refused',
      `${method} ${url.slice(0, 300)} is not permitted: no rule matches it. ${reason} Trying again will not help.`,
    );
    Object.assign(this.#begin(args), { outcome: 'refused', error: error.message });
    return answerOf(error);
  }

  #begin(args: Record<string, unknown>): NetworkExchange {
    const record: NetworkExchange = {
      ...describeRequest(args),
      outcome: 'unknown',
      bytes_up: 0,
      bytes_down: 0,
      duration_ms: 0,
    };
    this.#records.push(record);
    return record;
  }

  /** The rule of a request, or that of its approval. */
  #ruleOf(request: WireRequest, args: object): PermittingRule {
    const { rules, approvals, limits } = this.options;
    try {
      return rules.find(request.method, request.url);
    } catch (cause) {
      if (!(cause instanceof MissingRuleError) || approvals === undefined) throw cause;
      const decision = approvals.find(request);
      if (decision === false) throw refusedByPerson(request);
      if (decision === undefined && !this.#approved.has(args)) throw cause;
      return approvedRule(request.url, limits);
    }
  }

  /** Sends a request, unless a rule or a limit refuses it. Aborting the signal ends it. */
  async request(args: Record<string, unknown>, signal?: AbortSignal): Promise<NetworkAnswer> {
    const record = this.#begin(args);
    let request: WireRequest;
    let rule: PermittingRule;
    let recorded: RecordedExchange | undefined;
    try {
      request = toWireRequest(args);
      record.method = request.method;
      rule = this.#ruleOf(request, args);
      record.rule = rule.pattern.text;
      if (this.#approved.get(args)?.isRepeated) record.repeated = true;
      this.#checkLimits(request, rule, record);
      recorded = this.options.recorder?.begin(request);
    } catch (cause) {
      const error = toNetworkError(cause);
      Object.assign(record, { outcome: 'refused', error: error.message });
      return answerOf(error);
    }
    const exchange = new Exchange(record, recorded, timeoutOf(rule, args));
    return this.#run(exchange, signal, () => this.#send(exchange, request, rule, args['decode'] === true));
  }

  /** The next bytes of a response. */
  async read(handle: number): Promise<NetworkAnswer> {
    const exchange = this.#open.get(handle);
    if (exchange === undefined)
      return answerOf(
        new NetworkError(
          'invalid',
          `the response is closed: it was read or closed, or ${MAX_OPEN} newer ones are open`,
        ),
      );
    return this.#run(exchange, undefined, async () => {
      const piece = await exchange.body!.take(this.options.isRepeatable ? 'fill' : 'some');
      return this.#pieceOf(exchange, piece, handle);
    });
  }

  /** Ends a response that the program does not read further. */
  close(handle: number): void {
    const exchange = this.#open.get(handle);
    if (exchange === undefined) return;
    this.#finishExchange(exchange, handle);
    exchange.body?.cancel();
    exchange.aborter.abort(new NetworkError('failed', 'the program closed the response'));
  }

  /** Resolves when all requests that have ended are in the recording, or could not be written. */
  async recorded(): Promise<void> {
    await this.options.recorder?.finish().catch(() => {});
  }

  /** Ends all requests. A recording that can no longer be written is reported as a warning. */
  async finish(): Promise<void> {
    if (this.#isFinished) return;
    this.#isFinished = true;
    const ended = new NetworkError('failed', 'the program has ended');
    for (const exchange of this.#active) exchange.fail(ended);
    for (const handle of [...this.#open.keys()]) this.close(handle);
    try {
      await this.options.recorder?.finish();
    } catch (cause) {
      process.emitWarning((cause as Error).message);
    }
    await this.options.transport.close();
  }

  #checkLimits({ body }: WireRequest, rule: PermittingRule, record: NetworkExchange): void {
    const { limits } = this.options;
    if (this.#records.length > limits.requests)
      throw new NetworkError(
        'limit',
        `the program has made ${formatItems(limits.requests, 'request')}, which is its limit`,
      );
    const count = (this.#requestsOf.get(rule.id) ?? 0) + 1;
    if (count + (this.#earlierOf.get(rule.pattern.text) ?? 0) > rule.requests)
      throw new NetworkError(
        'limit',
        `the rule ${rule.pattern.text} permits ${formatItems(rule.requests, 'request')} per program`,
      );
    const size = body?.length ?? 0;
    if (size > rule.request_bytes)
      throw new NetworkError(
        'limit',
        `the body of the request has ${formatBytes(size)}; the limit is ${formatBytes(rule.request_bytes)}`,
      );
    this.#closeUnread();
    if (this.#sentBytes + size > limits.bytes_up)
      throw new NetworkError(
        'limit',
        `the program would send more than ${formatBytes(limits.bytes_up)}, which is the limit`,
      );
    this.#sentBytes += size;
    this.#requestsOf.set(rule.id, count);
    record.bytes_up = size;
  }

  /** Makes room for another response: programs often ignore bodies. */
  #closeUnread(): void {
    if (this.#active.size >= MAX_OPEN)
      throw new NetworkError('limit', `${MAX_OPEN} requests are running; wait for them first`);
    if (this.#open.size < MAX_OPEN) return;
    const unread = [...this.#open].find(([, exchange]) => !this.#active.has(exchange));
    if (unread !== undefined) this.close(unread[0]);
  }

  /** Runs a step of an exchange. The exchange ends if it fails. */
  async #run(
    exchange: Exchange,
    signal: AbortSignal | undefined,
    step: () => Promise<NetworkAnswer>,
  ): Promise<NetworkAnswer> {
    const stop = () => exchange.aborter.abort(new NetworkError('failed', 'the request was cancelled'));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    this.#active.add(exchange);
    try {
      return await Promise.race([step(), exchange.aborted]);
    } catch (cause) {
      for (const [handle, open] of this.#open) if (open === exchange) this.#open.delete(handle);
      return answerOf(exchange.fail(cause));
    } finally {
      this.#active.delete(exchange);
      signal?.removeEventListener('abort', stop);
    }
  }

  async #send(
    exchange: Exchange,
    request: WireRequest,
    rule: PermittingRule,
    isDecoded: boolean,
  ): Promise<NetworkAnswer> {
    const { transport, isRepeatable } = this.options;
    const { record, recorded, aborter } = exchange;
    const sent = this.options.secrets.insert(request);
    const response = await transport.send(sent, rule, aborter.signal);
    aborter.signal.throwIfAborted();
    record.status = response.status;
    const what = 'the response has';
    const countBody = byteLimit(rule.response_bytes, what);
    const { headers, body, reason } = await this.#readable(response, rule, isDecoded);
    aborter.signal.throwIfAborted();
    exchange.body = new ResponseBody(body, (bytes) => {
      record.bytes_down += bytes;
      countBody(bytes);
      this.#countDown(bytes);
    });
    recorded?.respond({ status: response.status, reason, headers });
    const hasBody = request.method !== 'HEAD';
    if (hasBody && (announcedLength(response.headers) ?? 0) > rule.response_bytes)
      byteLimit(rule.response_bytes, what)(Infinity);
    const handle = ++this.#lastHandle;
    this.#open.set(handle, exchange);
    const piece = await exchange.body.take(isRepeatable ? 'fill' : 'ready');
    return {
      status: response.status,
      reason,
      headers,
      url: hrefOf(request.url),
      ...this.#pieceOf(exchange, piece, handle),
    };
  }

  /** The response as a program may see it: without secrets, which compression would hide. */
  async #readable(
    response: WireResponse,
    rule: PermittingRule,
    isDecoded: boolean,
  ): Promise<Pick<WireResponse, 'headers' | 'body' | 'reason'>> {
    const { secrets } = this.options;
    const countResponse = byteLimit(rule.response_bytes, 'the compressed response has');
    const count = (bytes: number) => {
      countResponse(bytes);
      this.#countCompressed(bytes);
    };
    const isRequired = !secrets.isEmpty;
    const { headers, body } =
      isDecoded || isRequired ? decodeBody(response, { isRequired, count }) : response;
    if (secrets.isEmpty) return { headers, body, reason: response.reason };
    const [reason = ''] = await secrets.hideIn([response.reason]);
    return {
      headers: await secrets.hideInHeaders(headers),
      body: secrets.hideInBody(body),
      reason,
    };
  }

  #pieceOf(
    exchange: Exchange,
    { bytes, isLast }: BodyPiece,
    handle: number,
  ): { body: string; handle?: number } {
    exchange.recorded?.add(bytes);
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    if (!isLast) return { body, handle };
    this.#finishExchange(exchange, handle);
    return { body };
  }

  #finishExchange(exchange: Exchange, handle: number): void {
    this.#open.delete(handle);
    exchange.end();
    exchange.record.outcome = 'ok';
  }
}

/** The time limit of a request: that of its rule, or a shorter one that the program asks for. */
function timeoutOf({ timeout_seconds }: PermittingRule, { timeout_ms }: Record<string, unknown>): number {
  const asked = typeof timeout_ms === 'number' && timeout_ms > 0 ? timeout_ms : Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(timeout_seconds * 1000, asked));
}
