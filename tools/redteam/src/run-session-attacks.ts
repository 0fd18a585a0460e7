/** Runs attacks on sessions, in a store on disk. */
import { join } from 'node:path';
import type { Session } from '@llm-wasm-sandbox/core/internal';
import { diskStore, openSessions, SandboxError, type SessionRegistry } from '@llm-wasm-sandbox/core/internal';
import type { Attack, SessionAttack, SessionStep } from './attack.ts';
import { checkResult } from './check-result.ts';
import { mismatch, show } from './match.ts';
import type { Surroundings } from './surroundings.ts';

const DEFAULT_LIMITS = { fuel_budget: 2_000_000_000, timeout_seconds: 20 };

export async function runSessionAttack(
  attack: Attack<SessionAttack>,
  surroundings: Surroundings,
): Promise<string[]> {
  const folder = join(surroundings.folder, `store-${attack.id.replaceAll('/', '-')}`);
  const run = new SessionRun(attack, openSessions({ store: diskStore(folder) }));
  try {
    const problems: string[] = [];
    for (const [i, step] of attack.steps.entries()) {
      const found = await run.runStep(surroundings.fill(step));
      problems.push(...found.map((problem) => `step ${i + 1}: ${problem}`));
      if (found.length > 0) break;
    }
    return [...problems, ...surroundings.checkHost()];
  } finally {
    await run.registry.close();
  }
}

/** The sessions of one attack by name. */
class SessionRun {
  readonly #names = new Map<string, string>();
  #forks = 0;

  constructor(
    readonly attack: Attack<SessionAttack>,
    readonly registry: SessionRegistry,
  ) {}

  /** Runs a step and returns its problems. An error is a problem unless the step expects it. */
  async runStep(step: SessionStep): Promise<string[]> {
    let failure: unknown;
    let problems: string[] = [];
    try {
      problems = await this.#perform(step);
    } catch (cause) {
      failure = cause;
    }
    const code = failure instanceof SandboxError ? failure.code : failure && String(failure);
    if (code === step.error || ('mayFail' in step && code === step.mayFail)) return problems;
    if (failure === undefined) return [`succeeded, expected ${step.error}`];
    return [`threw ${code}: ${(failure as Error).message}${step.error ? `, expected ${step.error}` : ''}`];
  }

  async #perform(step: SessionStep): Promise<string[]> {
    if ('open' in step) {
      this.#names.set(step.open, step.open);
      await this.#session(step.open);
      return [];
    }
    const session = await this.#session('in' in step ? step.in : undefined);
    if ('run' in step) {
      const result = await session.execute(step.run, step.options);
      return checkResult(result, { ...session.policy, ...step.options }, step);
    }
    if ('checkpoint' in step) await session.checkpoint(step.checkpoint);
    else if ('rollback' in step) await session.rollback(step.rollback);
    else if ('undo' in step) await session.undo();
    else if ('write' in step) await session.writeFile(step.write, step.text);
    else if ('reopen' in step) await session.close();
    else if ('fork' in step) await session.fork(step.fork);
    else if ('variables' in step) {
      const names = (await session.variables()).map(({ name }) => name).sort();
      const found = mismatch(names, step.variables);
      return found === undefined ? [] : [`variables: ${found}`];
    } else return this.#compareWithFork(session, step.sameInFork);
    return [];
  }

  async #compareWithFork(live: Session, code: string): Promise<string[]> {
    const restored = await live.fork(`restored-${++this.#forks}`);
    const view = async (session: Session) => {
      const { metadata } = await session.execute(code);
      return metadata.error === undefined
        ? metadata.result
        : `${metadata.error.type}: ${metadata.error.message}`;
    };
    const [fromLive, fromRestored] = [await view(live), await view(restored)];
    if (show(fromLive) === show(fromRestored)) return [];
    return [`${code} is ${show(fromLive)} in the live session and ${show(fromRestored)} in the restored one`];
  }

  /** The session of that name; it is created or opened if necessary. */
  #session(name = 'main'): Promise<Session> {
    const policy = { ...DEFAULT_LIMITS, ...this.attack.policy };
    return this.registry.create({ runtime: this.attack.runtime!, session_id: name, policy });
  }
}
