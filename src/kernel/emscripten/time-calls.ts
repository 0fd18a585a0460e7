/** Emscripten's clocks and calendar. The guest's time zone is UTC, regardless of the host's. */
import type { GuestMemory } from '../guest-memory.ts';
import type { HostFunctions } from '../syscall-guard.ts';
import type { Kernel } from '../syscalls.ts';
import { TM } from './abi.ts';

export function timeCalls(kernel: Kernel, memory: GuestMemory): HostFunctions {
  const { host } = kernel;
  return {
    emscripten_date_now: () => {
      kernel.chargeHostTime(1);
      return host.now();
    },
    emscripten_get_now: () => {
      kernel.chargeHostTime(1);
      return host.monotonic();
    },
    _tzset_js: (timezone: number, daylight: number, standard: number, summer: number) => {
      memory.setU32(timezone, 0);
      memory.setU32(daylight, 0);
      memory.writeText(standard, 17, 'UTC', true);
      memory.writeText(summer, 17, 'UTC', true);
    },
    _gmtime_js: (time: bigint, out: number) => writeCalendar(memory, out, Number(time)),
    _localtime_js: (time: bigint, out: number) => writeCalendar(memory, out, Number(time)),
    // Local time is UTC.
    _timegm_js: (tm: number) => calendarToSeconds(memory, tm),
    _mktime_js: (tm: number) => calendarToSeconds(memory, tm),
  };
}

function writeCalendar(memory: GuestMemory, out: number, seconds: number): void {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  const values = {
    sec: date.getUTCSeconds(),
    min: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    mday: date.getUTCDate(),
    mon: date.getUTCMonth(),
    year: year - 1900,
    wday: date.getUTCDay(),
    yday: Math.floor((date.getTime() - Date.UTC(year, 0, 1)) / 86_400_000),
    isdst: 0,
    gmtoff: 0,
  };
  memory.bytes(out, TM.size);
  for (const [field, value] of Object.entries(values))
    memory.setU32(out + TM.at[field as keyof typeof values], value);
}

function calendarToSeconds(memory: GuestMemory, tm: number): bigint {
  try {
    const field = (name: keyof typeof TM.at) => memory.i32(tm + TM.at[name]);
    const time = Date.UTC(
      field('year') + 1900,
      field('mon'),
      field('mday'),
      field('hour'),
      field('min'),
      field('sec'),
    );
    if (!Number.isFinite(time)) return -1n;
    writeCalendar(memory, tm, time / 1000);
    return BigInt(time / 1000);
  } catch {
    // The result is a 64-bit integer, which the guard cannot return.
    return -1n;
  }
}
