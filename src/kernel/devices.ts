/** Devices, which are not part of the file tree. Guests open them by these exact paths. */
import type { OpenFile } from './descriptors.ts';

export type Device = Pick<Extract<OpenFile, { kind: 'null' | 'results' }>, 'kind'> | StreamDevice;
type StreamDevice = Pick<Extract<OpenFile, { kind: 'stream' }>, 'kind' | 'stream'>;

export const DEVICES: ReadonlyMap<string, Device> = new Map<string, Device>([
  ['/dev/null', { kind: 'null' }],
  ['/dev/stdin', { kind: 'stream', stream: 0 }],
  ['/dev/stdout', { kind: 'stream', stream: 1 }],
  ['/dev/stderr', { kind: 'stream', stream: 2 }],
  // Every write is one result that the program displays.
  ['/dev/results', { kind: 'results' }],
]);
