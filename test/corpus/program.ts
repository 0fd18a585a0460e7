/** The shape of the corpus: programs that fail the way programs of models fail, each with the type it must get. */
export interface Failing {
  readonly code: string;
  /** The type its guidance must have; null where no rule can know better than the exception itself. */
  readonly type: string | null;
  /** Text that must be part of the guidance, from this very run. */
  readonly says?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly options?: {
    readonly fuel_budget?: number;
    readonly timeout_seconds?: number;
    readonly stdin?: string;
  };
}
