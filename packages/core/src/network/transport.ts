/** What answers requests: the network, or a recording. */
import type { PermittingRule } from './network-rules.ts';
import type { HeaderList, WireRequest } from './wire-request.ts';

export interface WireResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: HeaderList;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Transport {
  /** Sends a request. The signal also ends the body of the response. */
  send(request: WireRequest, rule: PermittingRule, signal: AbortSignal): Promise<WireResponse>;
  close(): Promise<void>;
}
