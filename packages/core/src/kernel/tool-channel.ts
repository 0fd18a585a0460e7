/**
 * The interface through which runtimes call the tools of the caller. Calls are sent without waiting, and `wait` fetches
 * answers. Everything that a guest passes is untrusted: an implementation limits it and throws a system call error for
 * anything beyond.
 */
export interface ToolChannel {
  /** `[name, path]` of every tool as JSON, for the names that a program sees. */
  readonly names: string;
  /** Whether the program may send requests, with calls that have reserved names. */
  readonly hasNetwork: boolean;
  /** Sends a call. Fails with EAGAIN while too many calls are unanswered, and with EINVAL for a number that is in use. */
  call(id: number, name: string, argumentsJson: string): void;
  /**
   * Waits for an answer, at most this long, and returns it as JSON: `{ id, value }` or `{ id, code, message }`. Otherwise
   * returns `{ status }`: `timeout`, `interrupted` by a limit, `idle` if there is nothing to wait for, or `paused` if every
   * remaining call waits for an external decision. An infinite time waits for answers only.
   */
  wait(milliseconds: number): string;
  /** Withdraws a call. Its answer is discarded. */
  withdraw(id: number, reason: string): void;
  /** The tools that match a query, as JSON. */
  search(query: string, limit: number): string;
  /** The description of a tool as JSON; `null` if the tool does not exist. */
  describe(name: string): string;
  /** Whether the last `wait` returned `paused` and the program has not used the channel since. */
  readonly isPaused: boolean;
}

/** Maximum size of a text that a guest passes to the channel. Runtimes check it before they decode the text. */
export const MAX_TOOL_MESSAGE_BYTES = 20 * 1024 * 1024;
