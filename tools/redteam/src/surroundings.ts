/**
 * What an attack could change outside its guest: this process, a folder with a secret, and a sandbox that runs at the
 * same time. A check after every attack verifies that all of it is unchanged.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RuntimeName, Sandbox } from '@llm-wasm-sandbox/core/internal';
import { createSandbox, installedRuntimes } from '@llm-wasm-sandbox/core/internal';
import type { Pattern } from './attack.ts';
import { SECRET } from './corpus/secret.ts';
import { mismatch } from './match.ts';
import { ATTACK_PROGRAMS } from './programs/index.ts';

export { SECRET };

const SECRET_VARIABLE = 'REDTEAM_SECRET';

/** What the neighbour prints, whose file contains `mine`. */
export const NEIGHBOUR_OUTPUT = '4498500 mine\n';
const PROBE_LIMITS = { fuel_budget: 1_000_000_000, timeout_seconds: 60 };

export class Surroundings {
  readonly folder = mkdtempSync(join(tmpdir(), 'redteam-'));
  readonly secretFile = join(this.folder, 'secret.txt');
  readonly #networkBaselines = new Map<RuntimeName, string>();
  readonly #baselines = new Map<RuntimeName, { readonly stdout: string; readonly fuel_consumed: number }>();
  readonly #neighbours = new Map<RuntimeName, Sandbox>();
  #host: unknown;

  private constructor() {
    writeFileSync(this.secretFile, SECRET);
    process.env[SECRET_VARIABLE] = SECRET;
  }

  /** Records the output and fuel of a program in each language before the first attack. */
  static async create(): Promise<Surroundings> {
    const surroundings = new Surroundings();
    for (const runtime of installedRuntimes()) {
      const neighbour = await createSandbox({ runtime });
      await neighbour.writeFile('own.txt', 'mine');
      surroundings.#neighbours.set(runtime, neighbour);
      const { stdout, fuel_consumed } = await neighbour.execute(
        ATTACK_PROGRAMS[runtime].nextRun,
        PROBE_LIMITS,
      );
      surroundings.#baselines.set(runtime, { stdout, fuel_consumed });
    }
    surroundings.#host = surroundings.#hostState();
    return surroundings;
  }

  /** Replaces the placeholders in the texts of an attack. */
  fill<T>(value: T, more: Readonly<Record<string, string>> = {}): T {
    const values: Record<string, string> = {
      secret_file: this.secretFile,
      cwd: process.cwd(),
      node: process.execPath,
      ...more,
    };
    const visit = (part: unknown): unknown => {
      if (typeof part === 'string')
        return part.replaceAll(/\{\{(\w+)\}\}/g, (all, name) => values[name] ?? all);
      if (Array.isArray(part)) return part.map(visit);
      if (typeof part !== 'object' || part === null || part instanceof RegExp) return part;
      return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, visit(item)]));
    };
    return visit(value) as T;
  }

  /** Problems in a sandbox that runs while an attack runs. */
  async checkNeighbour(runtime: RuntimeName): Promise<string[]> {
    const neighbour = this.#neighbours.get(runtime)!;
    const { stdout, files_created, stderr } = await neighbour.execute(
      ATTACK_PROGRAMS[runtime].neighbour,
      PROBE_LIMITS,
    );
    const found = mismatch(
      { stdout, stderr, files_created },
      { stdout: NEIGHBOUR_OUTPUT, stderr: '', files_created: [] },
    );
    return found === undefined ? [] : [`a sandbox that ran at the same time: ${found}`];
  }

  /** Problems in the next run in the sandbox of an attack. */
  async checkNextRun(sandbox: Sandbox): Promise<string[]> {
    const { stdout, fuel_consumed } = await sandbox.execute(
      ATTACK_PROGRAMS[sandbox.runtime].nextRun,
      PROBE_LIMITS,
    );
    const found = mismatch({ stdout, fuel_consumed }, this.#baselineOf(sandbox, stdout));
    return found === undefined ? [] : [`the next run: ${found}`];
  }

  /** A program that may send requests starts with more than others. The first run of this kind is the baseline of the next ones. */
  #baselineOf({ runtime, policy }: Sandbox, stdout: string): Pattern {
    if (policy.network === undefined) return this.#baselines.get(runtime);
    const known = this.#networkBaselines.get(runtime) ?? stdout;
    this.#networkBaselines.set(runtime, known);
    return { stdout: known };
  }

  /** Problems in this process. A difference is reported once. */
  checkHost(): string[] {
    const state = this.#hostState();
    const found = mismatch(state, this.#host);
    this.#host = state;
    return found === undefined ? [] : [`the host process: ${found}`];
  }

  async close(): Promise<void> {
    for (const neighbour of this.#neighbours.values()) await neighbour.close();
    delete process.env[SECRET_VARIABLE];
    rmSync(this.folder, { recursive: true, force: true });
  }

  #hostState() {
    return {
      env: { ...process.env },
      cwd: process.cwd(),
      globals: Reflect.ownKeys(globalThis).map(String).sort(),
      prototypes: [Object, Array, Function, String, Promise, Map, Uint8Array].map((type) =>
        Reflect.ownKeys(type.prototype).map(String),
      ),
      secret: readFileSync(this.secretFile, 'utf8'),
      files: readdirSync(this.folder).filter((name) => !name.startsWith('store')),
    };
  }
}
