/**
 * What the red team runs in every language: programs that break limits, and programs of the runner itself, which detect
 * effects of an attack outside its own run. Attacks on one language are in redteam/corpus.
 */

export type Limit = 'fuel' | 'time' | 'memory' | 'output';

export interface LimitProgram {
  readonly name: string;
  /** Every limit that stops the program when no other is in force. */
  readonly breaks: readonly Limit[];
  readonly code: string;
  /** The program ends normally although it exceeds a limit. */
  readonly ends?: boolean;
  /** The program uses functions that other sandboxes do not have. */
  readonly sandboxOnly?: boolean;
  readonly reference?: string;
}

/** A program that recurses, how it must end, and its fuel budget if it differs from the usual one. */
export type RecursiveProgram = readonly [code: string, end: string, fuel?: number];

export interface AttackPrograms {
  /**
   * Runs after an attack in the same sandbox, and must print the same output and use the same fuel as in a sandbox that
   * was never attacked. Imports nothing that a workspace file could shadow.
   */
  readonly nextRun: string;
  /** Runs in another sandbox at the same time: prints the sum of the numbers below 3000 and the content of `own.txt`. */
  readonly neighbour: string;
  /** A program that evaluates expressions one by one and prints the value of each, or the name of its exception, as JSON. */
  evaluator(expressions: readonly string[]): string;
  /** Runs after an attack with tools, in the same session. Must print `[1]`. */
  readonly toolProbe: string;
  /**
   * Programs that break a limit. They use only the language and its standard library, because tools/bench/overshoot.mjs runs them
   * in other sandboxes too. Without limits no program ends in reasonable time, except those with `ends`.
   */
  readonly limitPrograms: readonly LimitProgram[];
  readonly memory: {
    /** Small, because filling the memory takes most of the time of these attacks. */
    readonly bytes: number;
    /** How a program ends that needs more. */
    readonly outcomes: readonly string[];
  };
  /** Programs of which preparing takes more than running, with further outcomes of the second one. */
  readonly longPrograms: {
    readonly fuel: string;
    readonly memory: string;
    readonly memoryOutcomes?: readonly string[];
  };
  /** Programs that recurse, by name. */
  readonly recursion: Readonly<Record<string, RecursiveProgram>>;
  /** Known vulnerabilities of the interpreter that programs in `recursion` would exploit. */
  readonly recursionReferences: Readonly<Record<string, string>>;
}
