/**
 * The loop of `repl`: reads lines until the parser of the interpreter accepts them as a complete source, and runs the source
 * as a call of the session. Failures of programs and commands never end the loop.
 */

import type {
  LanguageName,
  OnApproval,
  Sandbox,
  SandboxResult,
  Session,
  SessionRegistry,
  Toolset,
} from '@llm-wasm-sandbox/core/internal';
import { escapeControls, forReader, LANGUAGES } from '@llm-wasm-sandbox/core/internal';
import { approvalAtTerminal, approvalFrom } from '../ask-approval.ts';
import { paint } from '../color.ts';
import { printError, printLines, printNote } from '../diagnostics.ts';
import { exitCodeOf, UsageError } from '../exit-codes.ts';
import { COMMAND_LINE, failureLine } from '../failure-text.ts';
import { GuestOutput } from '../guest-output.ts';
import { reportResults } from '../report-run.ts';
import { type ReplState, runReplCommand } from './commands.ts';
import type { History } from './history.ts';
import { INTERRUPTED, type LineReader } from './line-reader.ts';

/** A longer source is rejected; `:load` runs larger files. */
export const MAX_SOURCE_CHARS = 1_000_000;
/** Characters of an unfinished line of output that a program can use as the prompt for its input. */
const MAX_PROMPT_CHARS = 200;
const NEWLINE = 0x0a;

interface ConsoleParts {
  readonly sessions: SessionRegistry;
  readonly session: Session;
  /** Parses sources without running them. */
  readonly parser: Sandbox;
  readonly language: LanguageName;
  readonly reader: LineReader;
  readonly history: History | undefined;
  /** Whether the sessions are stored when the command ends. */
  readonly isStored: boolean;
  /** Whether failures are explained. */
  readonly guidance: boolean;
  /** The tools that programs can call, if any. */
  tools(): Promise<Toolset | undefined>;
  open(session_id: string): Promise<Session>;
}

export class Console implements ReplState {
  session: Session;
  isEnding = false;
  /** The exit code of the last call or command. */
  status = 0;
  /** The part of the last line of output that has no line break yet. */
  #openLine = '';
  #lines: string[] = [];
  /** Cancels what the last line has started. */
  #cancel = new AbortController();

  constructor(readonly parts: ConsoleParts) {
    this.session = parts.session;
    parts.reader.onInterrupt = () => this.#cancel.abort();
  }

  get sessions(): SessionRegistry {
    return this.parts.sessions;
  }

  get isStored(): boolean {
    return this.parts.isStored;
  }

  open(session_id: string): Promise<Session> {
    return this.parts.open(session_id);
  }

  /** Reads and runs until the end of input. */
  async loop(): Promise<void> {
    const { reader } = this.parts;
    while (!this.isEnding) {
      this.#endLine();
      const line = await reader.next(() => this.#prompt);
      if (line === INTERRUPTED) this.#lines = [];
      else if (line === undefined) break;
      else await this.#accept(line);
    }
    // The end of input also ends a source.
    if (!this.isEnding && this.#lines.length > 0) await this.#attempt(() => this.run(this.#take()));
  }

  get #prompt(): string {
    const { language, isStored, session: initial } = this.parts;
    const { session_id } = this.session;
    const name = isStored || this.session !== initial ? ` ${escapeControls(session_id.slice(0, 40))}` : '';
    const prompt = `${language}${name}> `;
    return this.#lines.length === 0 ? prompt : '... '.padStart(prompt.length);
  }

  async #accept(line: string): Promise<void> {
    this.parts.history?.add(line);
    this.#cancel = new AbortController();
    if (this.#lines.length === 0) {
      if (line.trim() === '') return;
      if (line.startsWith(':')) {
        await this.#attempt(async () => {
          const text = await runReplCommand(this, line);
          if (text !== '') process.stdout.write(`${text}\n`);
        });
        return;
      }
    }
    this.#lines.push(line);
    await this.#attempt(async () => {
      const isIncomplete = await this.#isIncomplete(this.#lines.join('\n'));
      if (this.#cancel.signal.aborted) this.#lines = [];
      else if (!isIncomplete) await this.run(this.#take());
    });
  }

  #take(): string {
    const code = this.#lines.join('\n');
    this.#lines = [];
    return code;
  }

  /** Reports a failure of the host instead of ending the loop. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      this.status = 0;
      await work();
    } catch (cause) {
      this.#lines = [];
      this.#endLine();
      printError(cause instanceof Error ? cause.message : String(cause));
      this.status = exitCodeOf(cause);
    }
  }

  async #isIncomplete(code: string): Promise<boolean> {
    if (code.length > MAX_SOURCE_CHARS)
      throw new UsageError('The input is too long. Write it to a file and run it with ":load FILE".');
    const { parser, language } = this.parts;
    const { parseProgram, isIncomplete } = LANGUAGES[parser.runtime];
    return isIncomplete(await parser.execute(parseProgram(code), { language }), code);
  }

  async run(code: string): Promise<void> {
    const output = new GuestOutput(Number.POSITIVE_INFINITY);
    const tools = await this.parts.tools();
    const ended = new AbortController();
    const result = await this.session
      .execute(code, {
        language: this.parts.language,
        file_name: null,
        stdin: this.#input(ended.signal),
        signal: this.#cancel.signal,
        ...(tools && { tools }),
        onApproval: this.#onApproval,
        onOutput: (stream, bytes) => {
          this.#noteOutput(bytes);
          return output.write(stream, bytes);
        },
      })
      .finally(() => ended.abort());
    await output.finish();
    this.#endLine();
    this.status = result.exit_code;
    this.#report(result);
  }

  /** Lines for a program that reads its standard input, until it has ended. */
  async *#input(ended: AbortSignal): AsyncGenerator<Uint8Array> {
    for (;;) {
      const line = await this.#read(() => escapeControls(this.#openLine), ended);
      if (line === undefined) return;
      this.#openLine = '';
      yield Buffer.from(`${line}\n`);
    }
  }

  /** A line for the program that is running. Ctrl-C cancels the program instead. */
  async #read(prompt: () => string, ended: AbortSignal): Promise<string | undefined> {
    const line = await this.parts.reader.next(prompt, ended);
    if (line !== INTERRUPTED) return line;
    this.#cancel.abort();
    return undefined;
  }

  /** The person types answers like lines of a program. Programs cannot pause here: a call without an answer is denied. */
  get #onApproval(): OnApproval {
    if (!this.parts.reader.isTerminal) return approvalAtTerminal(false);
    return approvalFrom((text, signal) => {
      this.#endLine();
      const start = text.lastIndexOf('\n') + 1;
      process.stderr.write(text.slice(0, start));
      return this.#read(() => text.slice(start), signal);
    }, false);
  }

  #noteOutput(bytes: Uint8Array): void {
    const start = bytes.lastIndexOf(NEWLINE) + 1;
    const rest = Buffer.from(bytes.subarray(start)).toString('utf8');
    this.#openLine = ((start > 0 ? '' : this.#openLine) + rest).slice(-MAX_PROMPT_CHARS);
  }

  /** Ends a line of output that has no line break, so that a prompt or a message does not continue it. */
  #endLine(): void {
    if (this.#openLine !== '' && this.parts.reader.isTerminal) process.stdout.write('\n');
    this.#openLine = '';
  }

  #report(result: SandboxResult): void {
    reportResults(result, {}, true);
    const { trapped, error_guidance } = result.metadata;
    if (result.success) return;
    if (trapped) printError(failureLine(result, this.session.policy.timeout_seconds));
    const advice = error_guidance && forReader(error_guidance, COMMAND_LINE).actionable_guidance;
    if (!this.parts.guidance || advice === undefined) return;
    for (const line of advice) printLines(`${paint('note', 'hint:')} ${escapeControls(line)}`);
  }

  /** Says how to use the console. */
  greet(): void {
    const { reader, language, isStored } = this.parts;
    if (!reader.isTerminal) return;
    const { title, version, engine } = LANGUAGES[this.session.runtime];
    const kept = isStored ? `session ${this.session.session_id}` : 'the session is discarded when you exit';
    printNote(
      `${language === title.toLowerCase() ? title : `${title} (${language})`} ${version}, ${engine}; ${kept}. ":help" lists the commands.`,
    );
  }
}
