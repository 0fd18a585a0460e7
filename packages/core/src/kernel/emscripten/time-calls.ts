/**
 * Emscripten's clocks and calendar. The local time is UTC, regardless of the host's, unless the guest has the variables of a time zone
 * and sets TZ.
 */
import type { GuestMemory } from '../guest-memory.ts';
import { isSyscallError } from '../syscall-error.ts';
import type { HostFunctions } from '../syscall-guard.ts';
import type { Kernel } from '../syscalls.ts';
import { fixedZone, type LocalType, timeOfLocal } from '../time-zone.ts';
import { TM } from './abi.ts';
import { localZone, writeZoneName, type ZoneVariables } from './local-time.ts';

const UTC = fixedZone('UTC');
const UTC_TYPE = UTC.at(0);

export function timeCalls(kernel: Kernel, memory: GuestMemory, variables?: ZoneVariables): HostFunctions {
  const { host } = kernel;
  const zone = variables === undefined ? () => UTC : localZone(kernel, memory, variables);
  return {
    emscripten_date_now: () => {
      kernel.chargeHostTime(1);
      return host.now();
    },
    emscripten_get_now: () => {
      kernel.chargeHostTime(1);
      return host.monotonic();
    },
    // The C library calls this once, in the boot image. Each local time that it reads has its own name.
    _tzset_js: (timezone: number, daylight: number, standard: number, summer: number) => {
      memory.setU32(timezone, 0);
      memory.setU32(daylight, 0);
      memory.writeText(standard, 17, 'UTC', true);
      memory.writeText(summer, 17, 'UTC', true);
    },
    _gmtime_js: (time: bigint, out: number) => writeCalendar(memory, out, Number(time), UTC_TYPE),
    _localtime_js: (time: bigint, out: number) => {
      const type = zone().at(Number(time));
      writeCalendar(memory, out, Number(time), type);
      if (variables !== undefined) writeZoneName(memory, variables.tzname(), type);
    },
    _timegm_js: orMinusOne((tm: number) => {
      const time = readCalendar(memory, tm);
      const result = BigInt(time);
      writeCalendar(memory, tm, time, UTC_TYPE);
      return result;
    }),
    _mktime_js: orMinusOne((tm: number) => {
      const local = zone();
      const time = timeOfLocal(local, readCalendar(memory, tm), memory.i32(tm + TM.at.isdst));
      const result = BigInt(time);
      writeCalendar(memory, tm, time, local.at(time));
      return result;
    }),
  };
}

/** Returns a function with a 64-bit result, which the guard cannot return. A time that is too large is a RangeError of BigInt. */
const orMinusOne = (call: (tm: number) => bigint) => (tm: number) => {
  try {
    return call(tm);
  } catch (cause) {
    if (cause instanceof RangeError || isSyscallError(cause)) return -1n;
    throw cause;
  }
};

function writeCalendar(memory: GuestMemory, out: number, seconds: number, type: LocalType): void {
  const date = new Date((seconds + type.offset) * 1000);
  const year = date.getUTCFullYear();
  const values = {
    sec: date.getUTCSeconds(),
    min: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    mday: date.getUTCDate(),
    mon: date.getUTCMonth(),
    year: year - 1900,
    wday: date.getUTCDay(),
    yday: Math.floor((date.getTime() - new Date(0).setUTCFullYear(year, 0, 1)) / 86_400_000),
    isdst: type.isDst ? 1 : 0,
    gmtoff: type.offset,
  };
  memory.bytes(out, TM.size);
  for (const [field, value] of Object.entries(values))
    memory.setU32(out + TM.at[field as keyof typeof values], value);
}

/** The seconds since 1970 of a calendar in UTC. */
function readCalendar(memory: GuestMemory, tm: number): number {
  const field = (name: keyof typeof TM.at) => memory.i32(tm + TM.at[name]);
  const date = new Date(0);
  // Date.UTC takes years from 0 to 99 as those of the twentieth century.
  date.setUTCFullYear(field('year') + 1900, field('mon'), field('mday'));
  return date.setUTCHours(field('hour'), field('min'), field('sec')) / 1000;
}
