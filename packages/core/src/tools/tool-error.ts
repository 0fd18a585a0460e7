/** Errors of tool calls, and the part of a host error that programs may see: one line, without stack and paths. */
import { homedir } from 'node:os';

/**
 * The codes of `ToolError`. `invalid_arguments`: the arguments are invalid. `denied`: the call was not approved. `timeout`: the
 * tool did not answer in time. `limit`: a limit on calls was reached. `failed`: the tool failed. `unknown_tool`: no tool has
 * this name.
 */
export const TOOL_ERROR_CODES = [
  'invalid_arguments',
  'denied',
  'timeout',
  'limit',
  'failed',
  'unknown_tool',
] as const;
/** The code of a `ToolError`. */
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

const MAX_MESSAGE_CHARS = 2000;

/** An error that a tool throws to set the code and the message that the program receives. */
export class ToolError extends Error {
  /** Always `ToolError`. */
  override readonly name = 'ToolError';
  constructor(
    message: string,
    /** What went wrong. Default: `failed`. */
    readonly code: ToolErrorCode = 'failed',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Converts anything that a tool throws to the code and message that the program sees. */
export function programError(cause: unknown): { readonly code: ToolErrorCode; readonly message: string } {
  if (cause instanceof ToolError && TOOL_ERROR_CODES.includes(cause.code))
    return { code: cause.code, message: cause.message.slice(0, MAX_MESSAGE_CHARS) };
  return { code: 'failed', message: hostMessage(cause) };
}

/** Folders of the host that error messages often contain. */
const FOLDERS =
  'home|Users|Volumes|Applications|Library|root|tmp|var|etc|usr|opt|private|proc|srv|mnt|media|dev|sys|run|data|workspaces?|nix|snap|builds|lib|bin|sbin|boot';
const WINDOWS_START = String.raw`(?<!\w)(?:[A-Za-z]:\\|\\\\\w)`;

/** Replaces whole paths: those in known folders, and the given paths with everything below them. */
function hidePaths(text: string, paths: readonly string[]): string {
  const given = paths.map((path) => {
    const escaped = path.replace(/[\\/]$/, '').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return String.raw`${escaped}(?![\w-])`;
  });
  const starts = [...given, String.raw`\/(?:${FOLDERS})\/`].join('|');
  const start = String.raw`(?:(?<![\w./\\-])(?:file:\/\/)?(?:${starts})|${WINDOWS_START})`;
  // In quotes, a path ends at the closing quote; otherwise at a blank or at punctuation.
  const quoted = String.raw`(?<=(['"${'`'}]))${start}(?:(?!\1).)*(?=\1)`;
  const path = String.raw`${quoted}|${start}(?:[^\s'"${'`'}),;]*[^\s'"${'`'}),;:.])?`;
  return text.replace(new RegExp(path, 'g'), '<path>');
}

/** The first line of the message of an error, without paths of the host. Getters of the error are not trusted. */
export function hostMessage(cause: unknown): string {
  try {
    const { message, path, dest } = (cause ?? {}) as { message?: unknown; path?: unknown; dest?: unknown };
    const given = typeof cause === 'string' ? cause : typeof message === 'string' ? message : '';
    const text = given.slice(0, MAX_MESSAGE_CHARS).split('\n', 1)[0]!.trim();
    const paths = [path, dest, process.cwd(), homedir()].filter(
      (one): one is string => typeof one === 'string' && one.length > 1 && one.length <= MAX_MESSAGE_CHARS,
    );
    return hidePaths(text, paths) || 'The tool failed without a message.';
  } catch {
    return 'The tool failed without a message.';
  }
}
