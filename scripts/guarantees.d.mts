export interface ProvingTest {
  /** Path below the root of the repository. */
  readonly file: string;
  /** Names of the guarantees that the test proves. */
  readonly guarantees: readonly string[];
  /** Says what the test proves. */
  readonly sentence: string;
}
export function provingTests(): ProvingTest[];
