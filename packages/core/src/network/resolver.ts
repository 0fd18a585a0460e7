/** Resolves host names for requests. Tests and attacks replace the function to answer like a hostile name server. */
import { lookup } from 'node:dns/promises';

interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Returns the addresses of a host name. */
type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

const resolveWithSystem: Resolve = (host) => lookup(host, { all: true, verbatim: true });

let current = resolveWithSystem;

export const resolveHost: Resolve = (host) => current(host);

/** Replaces the name server of this process. Returns a function that restores it. @internal */
export function replaceResolver(resolve: Resolve): () => void {
  current = resolve;
  return () => {
    current = resolveWithSystem;
  };
}
