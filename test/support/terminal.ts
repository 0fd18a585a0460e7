/** Runs the built command line in a pseudo-terminal, with Python's pty module. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CLI } from './cli.ts';

/** Starts a command in a new terminal and passes on what is typed and printed. */
const RELAY = `import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
inputs = [terminal, 0]
while True:
    ready = select.select(inputs, [], [])[0]
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            inputs.remove(0)
    if terminal in ready:
        try:
            printed = os.read(terminal, 4096)
        except OSError:
            break
        if not printed:
            break
        os.write(1, printed)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;

const WAIT_MS = 60_000;

export const ESCAPE = '\x1b';
const COLORS = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g');

/** Text without the sequences that change colours. */
export const withoutColors = (text: string) => text.replaceAll(COLORS, '');

export class Terminal implements Disposable {
  /** Everything that was printed, with control sequences and the echo of what was typed. */
  output = '';
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<unknown[]>;
  #seen = 0;

  constructor(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
    const { FORCE_COLOR: _, NO_COLOR: __, ...inherited } = process.env;
    this.#process = spawn('python3', ['-c', RELAY, process.execPath, CLI, ...args], {
      env: { ...inherited, TERM: 'xterm', ...env },
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    this.#exit = once(this.#process, 'exit');
  }

  type(text: string): void {
    this.#process.stdin.write(text);
  }

  /** Waits until text is printed after what earlier calls waited for, and returns the match. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output.slice(this.#seen));
      if (match !== null) {
        this.#seen += match.index + match[0].length;
        return match;
      }
      const signal = AbortSignal.timeout(WAIT_MS);
      const printed = once(this.#process.stdout, 'data', { signal }).then(() => true);
      const isRunning = await Promise.race([printed, this.#exit.then(() => false)]).catch(() => false);
      if (!isRunning && !pattern.test(this.output.slice(this.#seen)))
        throw new Error(`The terminal does not show ${pattern}: ${JSON.stringify(this.output)}`);
    }
  }

  /** Waits for the end of the command and returns its exit code. */
  async exitCode(): Promise<number> {
    const [code] = (await this.#exit) as [number];
    return code;
  }

  [Symbol.dispose](): void {
    this.#process.kill();
  }
}
