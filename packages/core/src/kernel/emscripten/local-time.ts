/**
 * The time zone of a guest whose C library asks the host for the local time. It is that of the variable TZ, which is read from the
 * guest's memory each time: the host keeps no state that a snapshot would have to contain.
 */
import type { FileNode } from '../../fs/nodes.ts';
import type { GuestMemory } from '../guest-memory.ts';
import type { Kernel } from '../syscalls.ts';
import { fixedZone, type LocalType, parseRule, parseZoneFile, type TimeZone } from '../time-zone.ts';

/** Where the C library has its variables, by their names in C. */
export interface ZoneVariables {
  environ(): number;
  /** Two pointers to buffers of 17 bytes, which have the names of the standard time and of daylight saving time. */
  tzname(): number;
}

const UTC = fixedZone('UTC');
const FOLDER = '/usr/share/zoneinfo/';
/** The name of a zone has no dots, so it cannot lead out of the folder. */
const ZONE_NAME = /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/;
const MAX_VALUE_BYTES = 255;
const ENTRIES_PER_US = 100;
const NAME_BYTES = 17;
const PREFIX = [...'TZ='].map((letter) => letter.charCodeAt(0));

/** Zones of files, which are all read-only. */
const zonesOfFiles = new WeakMap<FileNode, TimeZone>();

function zoneOfFile(kernel: Kernel, name: string): TimeZone | undefined {
  if (!ZONE_NAME.test(name) || !kernel.volume.exists(FOLDER + name)) return undefined;
  const node = kernel.volume.lookup(FOLDER + name, '/', true);
  if (node.kind !== 'file' || !node.readonly) return undefined;
  const known = zonesOfFiles.get(node);
  if (known !== undefined) return known;
  kernel.chargeHostTime(100);
  const zone = parseZoneFile(node.data.subarray(0, node.size)) ?? UTC;
  zonesOfFiles.set(node, zone);
  return zone;
}

/** The zone that a value of TZ means. As in glibc, an unknown zone is UTC under the name that the value begins with. */
function zoneOf(kernel: Kernel, value: string): TimeZone {
  const name = value.replace(/^:/, '').replace(FOLDER, '');
  if (name === '' || name === 'UTC') return UTC;
  const unknown = () => fixedZone(/^[A-Za-z]{3,16}/.exec(name)?.[0] ?? 'UTC');
  return zoneOfFile(kernel, name) ?? parseRule(value) ?? unknown();
}

/** The value of TZ in the guest; undefined if there is none, or if it is longer than that of any zone. */
function readValue(kernel: Kernel, memory: GuestMemory, environ: number): string | undefined {
  for (let count = 1, entry = memory.u32(environ); entry !== 0; count++, entry += 4) {
    const text = memory.u32(entry);
    if (text === 0) break;
    if (PREFIX.every((byte, i) => memory.u8(text + i) === byte)) {
      const end = memory.all.indexOf(0, text + PREFIX.length);
      const value = memory.all.subarray(text + PREFIX.length, end);
      return value.length > MAX_VALUE_BYTES ? undefined : String.fromCharCode(...value);
    }
    if (count % ENTRIES_PER_US === 0) kernel.chargeHostTime(1);
  }
  return undefined;
}

/** Returns a function that returns the time zone of the guest. */
export function localZone(kernel: Kernel, memory: GuestMemory, variables: ZoneVariables): () => TimeZone {
  let last = { value: 'UTC', zone: UTC };
  return () => {
    const value = readValue(kernel, memory, variables.environ()) ?? 'UTC';
    if (value === 'UTC') return UTC;
    kernel.chargeHostTime(1);
    // The files of zones never change.
    if (last.value !== value) last = { value, zone: zoneOf(kernel, value) };
    return last.zone;
  };
}

/** Stores the name of a type of time where the C library finds the name of the local time that it has just read. */
export function writeZoneName(memory: GuestMemory, tzname: number, { isDst, name }: LocalType): void {
  memory.writeText(memory.u32(tzname + (isDst ? 4 : 0)), NAME_BYTES, name.slice(0, NAME_BYTES - 1), true);
}
