/** A program of the corpus: it fails the way programs written by models fail. */
export interface FailingProgram {
  readonly code: string;
  /** The type of its guidance; null if no rule can say more than the exception itself. */
  readonly type: string | null;
  /** Text that the guidance must contain. */
  readonly says?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly options?: {
    readonly fuel_budget?: number;
    readonly timeout_seconds?: number;
    readonly stdin?: string;
  };
}
