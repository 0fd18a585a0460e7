/**
 * Loads the states and files of a session into memory when an operation needs them. They can be unloaded while no
 * operation uses them and the store has them, so that a session that is open but idle needs no memory.
 */
import type { Workspace } from '../sandbox/workspace.ts';
import { heldBytes } from '../stores/format/state-size.ts';
import type { Holding, StateMemoryBudget } from '../stores/state-memory-budget.ts';
import type { SessionState } from '../stores/store.ts';
import type { SessionStates } from './session-states.ts';

/** The pool in whose memory the states and files of a session are counted. */
interface StatePool {
  readonly held: StateMemoryBudget;
  forgetWorkspace(id: string): void;
}

export class SessionStateLoader {
  readonly #states: SessionStates;
  readonly #workspace: Workspace;
  readonly #pool: StatePool;
  /** Undefined if the store counts the states itself. */
  readonly #holding: Holding | undefined;
  /** Operations in progress. */
  #uses = 0;
  #loading: Promise<void> | undefined;
  #isClosed = false;

  constructor(states: SessionStates, workspace: Workspace, pool: StatePool, tenant: string) {
    this.#states = states;
    this.#workspace = workspace;
    this.#pool = pool;
    if (states.store.isInMemory !== true) this.#holding = pool.held.open(tenant, () => this.#unload());
  }

  /** Counts the states of a session that is being opened. Throws `session_limit`. */
  async open(): Promise<void> {
    await this.claim(this.#states.loadedStates);
  }

  /** Makes room for these states before they replace the current ones. Throws `session_limit`. */
  async claim(states: readonly SessionState[]): Promise<void> {
    await this.#holding?.resize(heldBytes(states));
  }

  /** Keeps the states in memory while `work` runs. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    return this.pinned(async () => {
      if (!this.#states.isLoaded) {
        this.#loading ??= this.#load();
        await this.#loading;
      }
      return work();
    });
  }

  /** Keeps the states from being unloaded while `work` runs, but does not load them. */
  async pinned<T>(work: () => Promise<T>): Promise<T> {
    const release = this.pin();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Keeps the states from being unloaded until the returned function is called. */
  pin(): () => void {
    this.#uses++;
    return () => {
      this.#uses--;
      if (this.#states.isLoaded) this.#holding?.set(heldBytes(this.#states.loadedStates));
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#holding?.close();
  }

  async #load(): Promise<void> {
    try {
      const { state, undo } = await this.#states.readStates();
      await this.claim(undo === undefined ? [state] : [state, undo]);
      this.#states.load(state, undo);
      this.#workspace.load(state.workspace);
    } finally {
      this.#loading = undefined;
    }
  }

  async #unload(): Promise<void> {
    const isUnused = () => this.#uses === 0 && !this.#isClosed && this.#states.isLoaded;
    if (!isUnused() || !(await this.#states.isSaved()) || !isUnused()) return;
    this.#states.unload();
    this.#workspace.unload();
    this.#pool.forgetWorkspace(this.#workspace.id);
    this.#holding?.set(0);
  }
}
