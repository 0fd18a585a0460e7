/** The network of a sandbox: its rules, its recording, and a broker for every program. */
import type { NetworkExchange, NetworkPolicy } from '../schema.ts';
import { NetworkBroker } from './broker.ts';
import { LiveTransport, type TlsOptions } from './live-transport.ts';
import { NetworkRules } from './network-rules.ts';
import { Recorder, ReplayTransport } from './recording.ts';
import { RequestApprovals } from './request-approvals.ts';
import { Secrets } from './secrets.ts';

export class NetworkAccess {
  readonly #policy: NetworkPolicy;
  readonly #rules: NetworkRules;
  readonly #recorder: Recorder | undefined;
  readonly #replay: ReplayTransport | undefined;
  readonly secrets: Secrets;
  readonly #approvals: RequestApprovals | undefined;

  /** Throws `invalid_argument` if the recording cannot be read. */
  constructor(
    policy: NetworkPolicy,
    readonly tls: TlsOptions = {},
    seed?: number,
  ) {
    this.secrets = new Secrets(policy, seed);
    this.#policy = policy;
    this.#approvals = policy.ask ? new RequestApprovals() : undefined;
    this.#rules = new NetworkRules(policy);
    this.#recorder = policy.record === undefined ? undefined : new Recorder(policy.record);
    this.#replay = policy.replay === undefined ? undefined : new ReplayTransport(policy.replay);
  }

  /** The broker of one program, whose requests must also match each of the restrictions. */
  open(
    restrictions: readonly (readonly string[] | undefined)[] = [],
    earlier: readonly NetworkExchange[] = [],
  ): NetworkBroker {
    const isRestricted = restrictions.some((only) => only !== undefined);
    return new NetworkBroker({
      rules: isRestricted ? new NetworkRules(this.#policy, restrictions) : this.#rules,
      limits: this.#policy.limits,
      transport: this.#replay ?? new LiveTransport(this.tls),
      recorder: this.#recorder,
      secrets: this.secrets,
      approvals: this.#approvals,
      earlier,
      isRepeatable: this.#replay !== undefined || this.#recorder !== undefined,
    });
  }
}
