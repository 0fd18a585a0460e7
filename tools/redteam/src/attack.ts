/**
 * An attack as data: a program, a sequence of session steps or a sequence of requests, and what must hold afterwards. What several
 * clients do at the same time is a function. The runner adds the checks that hold for every attack: limits, host, neighbour and next run.
 */
import type { PolicyInput, RuntimeName } from '@llm-wasm-sandbox/core/internal';

/** What an attack aims at, in the order in which the categories run. */
export const CATEGORIES = [
  'escape',
  'limits',
  'truth',
  'session',
  'tools',
  'network',
  'packages',
  'server',
  'host',
  'host_memory',
] as const;
export type Category = (typeof CATEGORIES)[number];

/**
 * Expected value. A regular expression matches text, an object matches the properties it names, an array matches element
 * by element, and everything else must be equal.
 */
export type Pattern = unknown;

interface AttackFacts {
  /** Unique within its category and runtime. */
  readonly name: string;
  /** The CVE, advisory or issue of the software in which the attack worked. */
  readonly reference?: string;
}

/** An expression that is evaluated together with others in one guest. Its value or the name of its exception is checked. */
export interface ExpressionAttack extends AttackFacts {
  readonly evaluate: string;
  /** Matches the value as text, or the name of the exception. */
  readonly value: Pattern;
}

/** A program that runs in a sandbox of its own. In its text, `{{secret_file}}` is the
 * host path of a file with a secret, `{{cwd}}` the working directory and `{{node}}` the path of Node.js. */
export interface ProgramAttack extends AttackFacts {
  readonly code: string;
  readonly policy?: PolicyInput;
  /** Allowed outcomes: a trap reason, the type of an error, or `finished`. */
  readonly outcomes?: readonly string[];
  /** Matches the result of the call. */
  readonly expect?: Pattern;
  /**
   * Limit on the growth of the resident memory of the process during the attack. Only in the category `host_memory`.
   */
  readonly maxGrowthBytes?: number;
  /** How often the program runs, in one sandbox. */
  readonly repeat?: number;
}

/** One step of an attack on a session. With `error`, the step must be rejected with that error code. */
export type SessionStep = { readonly error?: string } & (
  | {
      readonly run: string;
      /** Name of the session; `main` unless given. */
      readonly in?: string;
      readonly options?: { readonly fuel_budget: number };
      readonly outcomes?: readonly string[];
      readonly expect?: Pattern;
    }
  | { readonly checkpoint: string }
  | { readonly rollback: string }
  | { readonly undo: true }
  | { readonly fork: string }
  | { readonly open: string }
  /** Closes the session and opens it again from its store. */
  | { readonly reopen: true }
  /** The host writes a file. With `mayFail`, this error is allowed. */
  | { readonly write: string; readonly text: string; readonly mayFail?: string }
  /** The names of the variables, sorted. */
  | { readonly variables: readonly string[] }
  /** Evaluates an expression in the session and in a fork, which is restored from the saved state. The results must be equal. */
  | { readonly sameInFork: string }
);

export interface SessionAttack extends AttackFacts {
  readonly policy?: PolicyInput;
  readonly steps: readonly SessionStep[];
  readonly maxGrowthBytes?: number;
}

/** A program in a session with the tools of the runner. The tool `danger` needs an approval that is never given. */
export interface ToolAttack extends AttackFacts {
  readonly callsTools: string;
  readonly policy?: PolicyInput;
  readonly outcomes?: readonly string[];
  readonly expect?: Pattern;
}

/** A wheel that a user adds. It must be refused before anything of it is used. */
export interface PackageAttack extends AttackFacts {
  /** The bytes of the wheel. */
  readonly wheel: () => Uint8Array;
  /** Matches the error. */
  readonly refused: RegExp;
  readonly maxGrowthBytes?: number;
}

/** A request to a server with the tenants `ann` and `bob`. */
export interface ServerRequest {
  /** Tenant whose token is sent; `ann` unless given. With null, no token is sent. */
  readonly as?: 'ann' | 'bob' | null;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Built before the measurement starts. */
  readonly body?: () => string;
  /** Calls a tool instead of sending `body`. */
  readonly tool?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Allowed status codes. */
  readonly status?: readonly number[];
  /** Matches the text of the answer. */
  readonly expect?: RegExp;
  /** Must not match the text of the answer. */
  readonly reject?: RegExp;
}

export interface ServerAttack extends AttackFacts {
  readonly requests: readonly ServerRequest[];
  /** Limit on the longest time for which the server does not answer other clients; one second unless given. */
  readonly maxStallMs?: number;
}

/** What an attack with clients of its own has. */
export interface Surrounded {
  /** A folder that is removed afterwards. */
  readonly folder: string;
  /** Starts a server with the tenants `ann` and `bob`, which is closed afterwards. Returns its origin. */
  serve(settings?: Partial<ServerLimits>): Promise<string>;
}

/** An attack that consists of what several clients or servers do at the same time. */
export interface ScenarioAttack extends AttackFacts {
  /** Returns the problems. */
  readonly attack: (given: Surrounded) => Promise<string[]>;
  readonly maxGrowthBytes?: number;
}

/** A file in the current folder that no program of the host may use. In its text, `{{marker}}` is a path that it would write to. */
export interface PlantedAttack extends AttackFacts {
  readonly plants: string;
  readonly text: string;
}

/** A program that names a file of the user without importing it, so that `run FILE` must not copy the file. */
export interface MentionAttack extends AttackFacts {
  readonly mentions: string;
  readonly file: string;
}

/** A file of a guest that programs of the user would take settings or commands from, so that `run --out` must not write it. */
export interface OutputAttack extends AttackFacts {
  readonly writes: string;
}

/** Settings with a secret that `--print-config` must not show. */
export interface SettingsAttack extends AttackFacts {
  readonly settings: object;
}

/** What a client sends to a server on standard input, one byte per character. The server must still answer afterwards. */
export interface InputAttack extends AttackFacts {
  readonly sends: string;
}

export type HostAttack = PlantedAttack | MentionAttack | OutputAttack | SettingsAttack | InputAttack;

export type AttackRow =
  | ExpressionAttack
  | ProgramAttack
  | SessionAttack
  | ToolAttack
  | PackageAttack
  | ServerAttack
  | ScenarioAttack
  | HostAttack;

/** A row of the corpus with its id and category. */
export type Attack<Row extends AttackRow = AttackRow> = Row & {
  /** `category/runtime/name` */
  readonly id: string;
  readonly category: Category;
  /** Absent for attacks that run no program. */
  readonly runtime: RuntimeName | undefined;
};

/** Rows of one category, by runtime. `any` holds attacks that run no program. */
export type AttackTable = Partial<Record<RuntimeName | 'any', readonly AttackRow[]>>;

/** The verdict on an attack. The attack did no harm if there are no problems. */
export interface Verdict {
  readonly attack: Attack;
  readonly problems: readonly string[];
  readonly durationMs: number;
}

export interface ServerLimits {
  rate_per_minute: number;
  fuel_budget: number;
  max_fuel_budget: number;
  timeout_seconds: number;
  max_timeout_seconds: number;
  max_connections?: number;
  max_sessions?: number;
}

/** The server under attack. The caller provides it, so that this module does not depend on the server. */
export interface AttackedServer {
  serveHttp(
    settings: ServerLimits & { port: number; tokens: string[]; e2b?: boolean; jupyter?: boolean },
  ): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** The settings as the command line prints them. */
  shownSettings(settings: Record<string, unknown>): unknown;
  /** The script of the command line. */
  readonly cli: string;
}
