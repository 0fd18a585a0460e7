/** What programs can do, made from the configuration of their sandbox. Texts state an ability, or its absence, only from this object. */
export interface Capabilities {
  /** Whether an import in Python, or `pip install`, adds a known package. */
  readonly addsPackages: boolean;
  /** Whether programs may send HTTP requests to permitted URLs. */
  readonly network: boolean;
  /** Whether programs can call tools. */
  readonly tools: boolean;
}

export const NO_CAPABILITIES: Capabilities = { addsPackages: false, network: false, tools: false };
