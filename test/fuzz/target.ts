/** What a fuzz target is, and how a batch of its cases runs. */
import fc from 'fast-check';

/** A property that does not depend on the types of its values. */
// biome-ignore lint/suspicious/noExplicitAny: targets generate values of different types
type Property = fc.IProperty<any> | fc.IAsyncProperty<any>;

/** A target that is ready to run. */
export interface OpenTarget {
  readonly property: Property;
  /** Fails if the generators did not reach the outcomes that the property is about. Called after the short run. */
  readonly checkCoverage?: () => void;
  /** Releases servers, sandboxes and folders. */
  readonly close?: () => Promise<void>;
}

export interface FuzzTarget {
  readonly name: string;
  /** Number of cases in the short run, which is part of the tests. */
  readonly shortRuns: number;
  open(): OpenTarget | Promise<OpenTarget>;
}

/** A case that failed. Seed and path reproduce it as long as the generators of the target stay the same. */
export interface Finding {
  readonly target: string;
  readonly seed: number;
  readonly path: string;
}

export interface BatchResult {
  readonly cases: number;
  readonly finding: Finding | undefined;
  /** The failed case and the error, for people. */
  readonly report: string;
}

/** A case that takes longer has hung. Only asynchronous targets can be interrupted. */
const CASE_TIMEOUT_MS = 60_000;

/**
 * Runs a batch of cases and stops at the first failure, which is reduced to a minimal case. After `maxMs`, no further case is
 * started. The limit of fast-check itself would abandon the running case, which would then use what `close` releases.
 */
export async function runBatch(
  name: string,
  { property }: OpenTarget,
  parameters: { seed: number; numRuns: number; path?: string; maxMs?: number },
): Promise<BatchResult> {
  const { maxMs = Number.POSITIVE_INFINITY, ...rest } = parameters;
  const details = await fc.check(stoppingAt(Date.now() + maxMs, property) as fc.IAsyncProperty<unknown>, {
    ...rest,
    timeout: CASE_TIMEOUT_MS,
  });
  const { counterexamplePath: path, numRuns: cases } = details;
  // fast-check also reports a failure, without a case, if the time is up before the first case.
  if (!details.failed || (details.interrupted && path === null))
    return { cases, finding: undefined, report: '' };
  if (path === null) throw new Error(`${name}: the property rejected too many cases (seed ${details.seed})`);
  const cause = details.errorInstance;
  const error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  const report = `${fc.stringify(details.counterexample).slice(0, 4000)}\n${error}`;
  return { cases, finding: { target: name, seed: details.seed, path }, report };
}

function stoppingAt(deadlineMs: number, property: Property): Property {
  return Object.assign(Object.create(property) as Property, {
    run: (value: unknown) =>
      Date.now() < deadlineMs ? property.run(value) : new fc.PreconditionFailure(true),
  });
}
