export interface ProvingTest {
  /** Path below the root of the repository. */
  readonly file: string;
  /** Names of the guarantees that the test proves. */
  readonly guarantees: readonly string[];
  /** Full name of the test, with the titles of its suites. */
  readonly name: string;
}
export function provingTests(): ProvingTest[];
