export interface ProvingTest {
  /** Path below the root of the repository. */
  readonly file: string;
  /** Names of the guarantees that the test proves. */
  readonly guarantees: readonly string[];
  /** Says what the test proves. */
  readonly sentence: string;
}
export function provingTests(): ProvingTest[];

export interface GuaranteeRow {
  readonly name: string;
  readonly guarantee: string;
  readonly mechanism: string;
  /** The file of the source that enforces the guarantee. */
  readonly file: string;
  /** The test that would fail first, below test/. */
  readonly test: string;
}
export function guaranteeRows(): GuaranteeRow[];
