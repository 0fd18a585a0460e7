/** The label and the status of a step on the timeline. */
import type { SandboxResult } from '../schema.ts';
import type { TimelineNode } from './timeline.ts';

export const MAX_LABEL_CHARS = 80;

export function stepStatus({ success, metadata }: SandboxResult): TimelineNode['status'] {
  // A resume that was rolled back leaves the program paused.
  if (metadata.execution_id !== undefined) return 'paused';
  if (metadata.trap_reason === 'cancelled') return 'stopped';
  return success ? 'ok' : 'failed';
}

/** The first line of a program that is neither empty nor a comment, if there is one near its beginning. */
export function stepLabel(code: string): string {
  const lines = code
    .slice(0, 4096)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const label = lines.find((line) => !line.startsWith('#') && !line.startsWith('//')) ?? lines[0];
  return (label ?? 'Empty program').slice(0, MAX_LABEL_CHARS);
}
