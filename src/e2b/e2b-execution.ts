/** What a program produced, in the classes and field names of `@e2b/code-interpreter`. */
import { displayedForms, programFailure } from '../http/program-outcome.ts';
import type { DisplayResult, SandboxResult } from '../schema.ts';

/** A chunk of output. */
export class OutputMessage {
  constructor(
    /** Text of the chunk. */
    readonly line: string,
    /** Unix time in nanoseconds. */
    readonly timestamp: number,
    /** Whether the text is standard error. */
    readonly error: boolean,
  ) {}

  toString(): string {
    return this.line;
  }
}

/** The reason why a program failed: an uncaught exception, or a limit that the program reached. */
export class ExecutionError {
  constructor(
    /** Name of the exception class, or of the limit. */
    public name: string,
    /** Message of the exception. */
    public value: string,
    /** Traceback as text, followed by steps to fix the failure. */
    public traceback: string,
  ) {}
}

const FORMATS = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'latex', 'json', 'data', 'chart'] as const;
type Format = (typeof FORMATS)[number];

/** The forms of a displayed value, by format. */
export type RawData = { readonly [key in Format]?: unknown };

/** A value, table, chart or image that a program displayed. */
export class E2bResult {
  /** Plain text. */
  readonly text?: string;
  /** HTML from the program. Show it only in a sandboxed frame. */
  readonly html?: string;
  /** Markdown. */
  readonly markdown?: string;
  /** SVG from the program. Show it only as an image. */
  readonly svg?: string;
  /** PNG image in base64. */
  readonly png?: string;
  /** JPEG image in base64. */
  readonly jpeg?: string;
  /** Always undefined: programs in this sandbox do not display PDF documents. */
  readonly pdf?: string;
  /** LaTeX. */
  readonly latex?: string;
  /** JSON data. */
  readonly json?: unknown;
  /** Always undefined: programs in this sandbox do not display JavaScript. */
  readonly javascript?: string;
  /** The columns of a table, by name. */
  readonly data?: Record<string, unknown>;
  /** The data of a chart. */
  readonly chart?: unknown;

  constructor(
    /** The forms by format. */
    readonly raw: RawData,
    /** Whether the result is the value of the last expression. */
    readonly isMainResult: boolean,
  ) {
    for (const format of FORMATS)
      if (raw[format] !== undefined) Object.assign(this, { [format]: raw[format] });
  }

  /** Returns the available formats. */
  formats(): string[] {
    return FORMATS.filter((format) => this.raw[format] !== undefined);
  }

  /** Returns the forms as data, without tables and charts. */
  toJSON(): Record<string, unknown> {
    const { data: _data, chart: _chart, ...forms } = this.raw;
    return forms;
  }
}

/** The output of a program. */
export interface Logs {
  /** Standard output. */
  stdout: string[];
  /** Standard error. */
  stderr: string[];
}

/** The result of a program. */
export class E2bExecution {
  constructor(
    /** Results that the program displayed, and the value of the last expression. */
    public results: E2bResult[] = [],
    /** Output of the program. */
    public logs: Logs = { stdout: [], stderr: [] },
    /** Why the program failed. Undefined if it succeeded. */
    public error?: ExecutionError,
    /** Number of the call in its context, starting at 1. */
    public executionCount?: number,
  ) {}

  /** The value of the last expression as text. */
  get text(): string | undefined {
    return this.results.find(({ isMainResult }) => isMainResult)?.text;
  }

  toJSON(): { results: E2bResult[]; logs: Logs; error: ExecutionError | undefined } {
    const { results, logs, error } = this;
    return { results, logs, error };
  }
}

/** Converts a displayed value. `readFile` is that of `displayedForms`. */
export async function toE2bResult(
  result: DisplayResult,
  readFile: Parameters<typeof displayedForms>[1],
): Promise<E2bResult> {
  const forms = await displayedForms(result, readFile);
  const known = FORMATS.filter((format) => forms[format] !== undefined);
  const shown = forms.text === undefined ? forms : { ...forms, text: withoutQuotes(forms.text) };
  const raw = Object.fromEntries(known.map((format) => [format, shown[format]]));
  return new E2bResult(raw, result.is_main_result);
}

/** The text of a value. E2B shows strings without the quotes of their representation. */
const withoutQuotes = (text: string) =>
  /^(['"]).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text;

/** The exception that ended a program, or the limit that stopped it. */
export function executionError(result: SandboxResult): ExecutionError | undefined {
  const failure = programFailure(result);
  return failure && new ExecutionError(failure.name, failure.value, failure.traceback);
}
