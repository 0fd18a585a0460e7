/** A request to the interface of Jupyter Server, as the handlers receive it. */
import type { RestRequest } from '../server/rest-call.ts';
import type { Kernels } from './kernels.ts';

export interface JupyterCall extends RestRequest {
  readonly kernels: Kernels;
  /** The parts of the path that match the `:` segments of the route. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
}
