/** What the command line uses of the library before it loads a command. It can change with every version. */

export { escapeControls } from './analysis/escape-controls.ts';
export { type ErrorCode, SandboxError } from './errors.ts';
export { optimizeOnHalfOfCores } from './host/v8-flags.ts';
export { formatDuration, formatPercent } from './quantities.ts';
export { similarNames } from './schema/similar-names.ts';
