/** The network of a sandbox: its rules, its recording, and a broker for every program. */
import { atOnce, finishInSlices } from '../concurrency/slices.ts';
import type { NetworkExchange, NetworkPolicy } from '../schema.ts';
import { NetworkBroker } from './broker.ts';
import { LiveTransport, type TlsOptions } from './live-transport.ts';
import { NetworkRules } from './network-rules.ts';
import { ProgramRecording, Recorder, type ReplayTransport, readRecording } from './recording.ts';
import { RequestApprovals } from './request-approvals.ts';
import { Secrets } from './secrets.ts';

/** What a session shares with its forks. */
interface SharedParts {
  readonly rules: NetworkRules;
  readonly recorder: Recorder | undefined;
  readonly replay: ReplayTransport | undefined;
  readonly secrets: Secrets;
}

/** Reads the parts in steps. Throws `invalid_argument` if a recording cannot be read or written. */
function* sharedParts(policy: NetworkPolicy, seed: number | undefined): Generator<void, SharedParts> {
  const { record, replay } = policy;
  return {
    secrets: new Secrets(policy, seed),
    rules: new NetworkRules(policy),
    recorder: record === undefined ? undefined : new Recorder(record),
    replay: replay === undefined ? undefined : yield* readRecording(replay),
  };
}

export class NetworkAccess {
  readonly #policy: NetworkPolicy;
  readonly #shared: SharedParts;
  readonly #approvals: RequestApprovals | undefined;

  constructor(
    policy: NetworkPolicy,
    readonly tls: TlsOptions = {},
    seed?: number,
    shared = atOnce(sharedParts(policy, seed)),
  ) {
    this.#policy = policy;
    this.#shared = shared;
    this.#approvals = policy.ask ? new RequestApprovals() : undefined;
  }

  /** Like the constructor, but reads a recording in slices. */
  static async load(policy: NetworkPolicy, seed: number | undefined): Promise<NetworkAccess> {
    return new NetworkAccess(policy, {}, seed, await finishInSlices(sharedParts(policy, seed)));
  }

  get secrets(): Secrets {
    return this.#shared.secrets;
  }

  /** The network of a fork. What a person has decided for the session does not apply to it. */
  forFork(): NetworkAccess {
    return new NetworkAccess(this.#policy, this.tls, undefined, this.#shared);
  }

  /** The broker of one program, whose requests must also match each of the restrictions. */
  open(
    restrictions: readonly (readonly string[] | undefined)[] = [],
    earlier: readonly NetworkExchange[] = [],
  ): NetworkBroker {
    const { rules, recorder, replay, secrets } = this.#shared;
    const isRestricted = restrictions.some((only) => only !== undefined);
    return new NetworkBroker({
      rules: isRestricted ? new NetworkRules(this.#policy, restrictions) : rules,
      limits: this.#policy.limits,
      transport: replay ?? new LiveTransport(this.tls),
      recorder: recorder && new ProgramRecording(recorder),
      secrets,
      approvals: this.#approvals,
      earlier,
      isRepeatable: replay !== undefined || recorder !== undefined,
    });
  }
}
