import type { RuntimeName } from '../../../packages/core/src/schema.ts';

export interface FailingProgram {
  readonly language: RuntimeName;
  /** `topic: description`. */
  readonly name: string;
  readonly code: string;
  readonly earlier: readonly string[];
  readonly options: {
    readonly files: Record<string, string | Uint8Array<ArrayBuffer>>;
    readonly fuel_budget?: number;
    readonly timeout_seconds?: number;
    readonly stdin?: string;
  };
  readonly cause: string;
}

export function failingPrograms(languages?: readonly RuntimeName[], folder?: 'held-out/'): FailingProgram[];
