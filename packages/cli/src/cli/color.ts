/**
 * Whether text for a stream is coloured, and how. `--color` overrides the environment variables FORCE_COLOR and NO_COLOR,
 * which override the default: colours on terminals only.
 */

export const COLOR_MODES = ['auto', 'always', 'never'] as const;
type ColorMode = (typeof COLOR_MODES)[number];

/** SGR parameters. Each starts with a reset, because a program may have left the terminal in another style. */
const STYLES = {
  error: '0;1;31',
  warning: '0;1;33',
  note: '0;1;36',
  success: '0;1;32',
  title: '0;1',
  code: '0;36',
} as const;
export type Style = keyof typeof STYLES;

export interface TerminalStream {
  readonly isTTY?: boolean;
}

let mode: ColorMode = 'auto';

/** Reads `--color` from the arguments before they are parsed, because parsing errors are coloured too. */
export function readColorMode(args: readonly string[]): void {
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  const last = own.findLastIndex((arg) => arg === '--color' || arg.startsWith('--color='));
  const value = own[last] === '--color' ? own[last + 1] : own[last]?.slice('--color='.length);
  mode = COLOR_MODES.find((name) => name === value) ?? 'auto';
}

export function hasColor(stream: TerminalStream, env: NodeJS.ProcessEnv = process.env): boolean {
  if (mode !== 'auto') return mode === 'always';
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  // FORCE_COLOR overrides NO_COLOR, as in Node.js.
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return !NO_COLOR && stream.isTTY === true && TERM !== 'dumb';
}

/** The text in a style, if the stream has colours. Control characters in the text must already be escaped. */
export function paint(style: Style, text: string, stream: TerminalStream = process.stderr): string {
  return hasColor(stream) ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text;
}
