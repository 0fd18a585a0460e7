/** Devices, which are not part of the file tree. Guests open them by these exact paths. */

/** Devices without a state of their own. All but `results` have no position: seeking has no effect. */
const DEVICE_KINDS = ['null', 'zero', 'full', 'random', 'results'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

type Device = { readonly kind: DeviceKind } | { readonly kind: 'stream'; readonly stream: 0 | 1 | 2 };

export const isDevice = <T extends { readonly kind: string }>(
  file: T,
): file is Extract<T, { readonly kind: DeviceKind }> =>
  (DEVICE_KINDS as readonly string[]).includes(file.kind);

export const DEVICES: ReadonlyMap<string, Device> = new Map<string, Device>([
  ['/dev/null', { kind: 'null' }],
  ['/dev/zero', { kind: 'zero' }],
  ['/dev/full', { kind: 'full' }],
  ['/dev/random', { kind: 'random' }],
  ['/dev/urandom', { kind: 'random' }],
  ['/dev/stdin', { kind: 'stream', stream: 0 }],
  ['/dev/stdout', { kind: 'stream', stream: 1 }],
  ['/dev/stderr', { kind: 'stream', stream: 2 }],
  // Every write is one result that the program displays.
  ['/dev/results', { kind: 'results' }],
]);
