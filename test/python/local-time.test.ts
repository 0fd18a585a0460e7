/** The variable TZ in Python: compared with the module zoneinfo, which reads the same files with code of its own. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

/** 14 July 2026, 12:00 UTC. */
const SUMMER = 1784030400;

/** Compares the local time with zoneinfo for zones and times: some of each year, and those around changes of the offset. */
const COMPARE = code`
  import datetime, os, time, zoneinfo
  def check(zone, at):
      moment = datetime.datetime.fromtimestamp(at, zone)
      local = time.localtime(at)
      expected = (*moment.timetuple()[:8], bool(moment.dst()), moment.utcoffset().total_seconds(), moment.tzname())
      got = (*local[:8], bool(local.tm_isdst), local.tm_gmtoff, local.tm_zone)
      assert got == expected, (str(zone), at, got, expected)
      assert time.mktime(local) == at, (str(zone), at, time.mktime(local))
      return local.tm_gmtoff
  count = 0
  for name in ZONES:
      zone = zoneinfo.ZoneInfo(name)
      os.environ['TZ'] = name
      time.tzset()
      for year in range(1900, 2101, 2):
          start = int((datetime.datetime(year, 1, 17) - datetime.datetime(1970, 1, 1)).total_seconds())
          low, high = start, start + 160 * 86400
          if check(zone, low) != check(zone, high):
              while high - low > 1:
                  middle = (low + high) // 2
                  if check(zone, middle) == check(zone, start): low = middle
                  else: high = middle
              count += 1
  print(count > 0)
`;

describe('local time in Python', () => {
  test.each([
    ["'America/New_York', 'Europe/Berlin'"],
    ["'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia'"],
    ["'America/Sao_Paulo', 'Africa/Monrovia'"],
  ])('is that of zoneinfo from 1900 to 2100 in %s', { tags: 'full' }, async (zones) => {
    const { stdout, stderr } = await python(COMPARE.replace('ZONES', `(${zones},)`));
    expect({ stdout, stderr }).toEqual({ stdout: 'True\n', stderr: '' });
  });

  test.each([
    ['America/New_York', "('EST', 'EDT') 18000 14400 1 08:00 EDT"],
    ['Australia/Sydney', "('AEST', 'AEDT') -36000 -39600 1 22:00 AEST"],
    [':Europe/Berlin', "('CET', 'CEST') -3600 -7200 1 14:00 CEST"],
    ['EST5EDT,M3.2.0,M11.1.0', "('EST', 'EDT') 18000 14400 1 08:00 EDT"],
    ['<+0530>-5:30', "('+0530', '+0530') -19800 -19800 0 17:30 +0530"],
    ['AAA3BBB,J60/0,300', "('AAA', 'BBB') 10800 7200 1 10:00 BBB"],
    ['Mars/Olympus', "('Mars', 'Mars') 0 0 0 12:00 Mars"],
    ['../../../app/evil', "('UTC', 'UTC') 0 0 0 12:00 UTC"],
    ['', "('UTC', 'UTC') 0 0 0 12:00 UTC"],
    ['x'.repeat(300), "('UTC', 'UTC') 0 0 0 12:00 UTC"],
  ])('follows TZ=%s after time.tzset and from the start', async (zone, expected) => {
    const show = `print(time.tzname, time.timezone, time.altzone, time.daylight, time.strftime('%H:%M %Z', time.localtime(${SUMMER})))`;
    const changed = await python(
      `import os, time\nos.environ['TZ'] = ${JSON.stringify(zone)}\ntime.tzset()\n${show}`,
    );
    expect(changed.stdout).toBe(`${expected}\n`);
    const started = await python(`import time\n${show}`, { env: { TZ: zone } });
    expect(started.stdout).toBe(`${expected}\n`);
  });

  test('is that of datetime and of time.mktime, also for times that clocks skip or repeat', async () => {
    const { stdout } = await python(
      code`
      import datetime, time
      print(datetime.datetime(2024, 7, 1, 12).astimezone().isoformat(), datetime.datetime.fromtimestamp(0).isoformat())
      print(time.mktime((2024, 3, 10, 2, 30, 0, 0, 0, -1)), [time.mktime((2024, 11, 3, 1, 30, 0, 0, 0, dst)) for dst in (-1, 0, 1)])
      print(time.mktime((50, 1, 1, 0, 0, 0, 0, 0, -1)), time.ctime(0))
    `,
      { env: { TZ: 'America/New_York' } },
    );
    // As printed by CPython with glibc.
    expect(stdout).toBe(`2024-07-01T12:00:00-04:00 1969-12-31T19:00:00
1710055800.0 [1730611800.0, 1730615400.0, 1730611800.0]
-60589278238.0 Wed Dec 31 19:00:00 1969
`);
  });

  test('stays in a session, and returns with a rollback', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const zone = async () =>
      (await session.execute(`import time; print(time.tzname[0], time.localtime(${SUMMER}).tm_hour)`)).stdout;
    await session.execute('pass', { env: { TZ: 'Asia/Tokyo' } });
    await session.checkpoint('tokyo');
    await session.execute("import os, time; os.environ['TZ'] = 'Europe/Berlin'; time.tzset()");
    expect(await zone()).toBe('CET 14\n');
    await session.rollback('tokyo');
    expect(await zone()).toBe('JST 21\n');
  });

  test('finds TZ among thousands of variables', async () => {
    const { exit_code } = await python(code`
      import os, time
      for i in range(3000): os.environ[f'A{i}'] = 'x'
      os.environ['TZ'] = 'Asia/Tokyo'
      assert time.localtime(0).tm_hour == 9
    `);
    expect(exit_code).toBe(0);
  });
});
