/** A wheel, the program that uses it, and the wheels that the program needs. */
export interface WheelCase {
  readonly id: string;
  readonly path: string;
  readonly packages: readonly string[];
  /** Names of needed packages for which there is no wheel. */
  readonly missing: readonly string[];
  readonly what: string;
  readonly code: string;
  /** Why the wheel is refused when it is added; undefined if it is not. */
  readonly refusal: string | undefined;
}
export function wheelCases(): WheelCase[];
export function pureWheels(names: readonly string[]): (string | undefined)[];
