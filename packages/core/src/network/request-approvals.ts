/** What a person has decided about requests that no rule permits. Decisions for a session last while it is open, and are not stored. */
import { type CheckedUrl, originOf } from '../schema/url-pattern.ts';
import { NetworkError } from './network-error.ts';
import type { WireRequest } from './wire-request.ts';

const MAX_REMEMBERED = 1000;

/** What a decision for the session is about. */
const keyOf = ({ method, url }: { readonly method: string; readonly url: CheckedUrl }) =>
  `${method} ${originOf(url)}`;

export class RequestApprovals {
  readonly #remembered = new Map<string, boolean>();

  /** The decision for the session; undefined if there is none. */
  find(request: WireRequest): boolean | undefined {
    return this.#remembered.get(keyOf(request));
  }

  remember(request: WireRequest, isApproved: boolean): void {
    if (this.#remembered.size < MAX_REMEMBERED) this.#remembered.set(keyOf(request), isApproved);
  }
}

export const refusedByPerson = (request: WireRequest) =>
  new NetworkError(
    'refused',
    `a person has refused ${keyOf(request)} for this session. Trying again will not help.`,
  );
