/** Devices, which are not part of the file tree. Guests open them by these exact paths. */

/** Devices without a state of their own. All but `results` have no position: seeking has no effect. */
const DEVICE_KINDS = ['null', 'zero', 'full', 'random', 'results'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

export const isDevice = <T extends { readonly kind: string }>(
  file: T,
): file is Extract<T, { readonly kind: DeviceKind }> =>
  (DEVICE_KINDS as readonly string[]).includes(file.kind);

export const DEVICES: ReadonlyMap<string, { readonly kind: DeviceKind }> = new Map([
  ['/dev/null', { kind: 'null' }],
  ['/dev/zero', { kind: 'zero' }],
  ['/dev/full', { kind: 'full' }],
  ['/dev/random', { kind: 'random' }],
  ['/dev/urandom', { kind: 'random' }],
  // Every write is one result that the program displays.
  ['/dev/results', { kind: 'results' }],
]);

const STANDARD_STREAMS = ['/dev/stdin', '/dev/stdout', '/dev/stderr'];
const DESCRIPTOR_PATH = /^\/(?:dev|proc\/self)\/fd\/(\d{1,3})$/;

/** The descriptor that a path stands for, such as /dev/fd/3 or /dev/stdin; undefined for other paths. */
export function descriptorOf(path: string): number | undefined {
  const stream = STANDARD_STREAMS.indexOf(path);
  if (stream >= 0) return stream;
  const found = DESCRIPTOR_PATH.exec(path);
  return found === null ? undefined : Number(found[1]);
}
