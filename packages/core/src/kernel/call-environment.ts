/** What the host provides to a program during one call. */
import type { FindPackages } from './package-finder.ts';
import type { Processes } from './processes.ts';
import { StandardInput } from './standard-input.ts';
import type { ToolChannel } from './tool-channel.ts';

export interface CallEnvironment<Tools extends ToolChannel = ToolChannel> {
  /** Shared by all processes of the call. */
  readonly input: StandardInput;
  /** Whether the program can display results. */
  readonly hasResults: boolean;
  /** The tools of the caller; absent if the program has none. */
  readonly tools?: Tools | undefined;
  /** Absent if the host adds no packages to this guest. */
  readonly findPackages?: FindPackages | undefined;
  /** The processes of the call; absent if the guest cannot start any. */
  readonly processes?: Processes | undefined;
}

/** Between calls, and for a guest that prepares an image: no input, tools or processes. */
export const NO_CALL: CallEnvironment<never> = { input: new StandardInput(), hasResults: true };
