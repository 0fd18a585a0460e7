/** The variable TZ in C programs, and the folder with the time zone database. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

async function run(code: string, policy = {}) {
  await using sandbox = await createSandbox({ runtime: 'bash', policy });
  return await sandbox.execute(code);
}

/** 14 July 2026, 12:00 UTC. */
const SUMMER = 1784030400;
/** 15 January 2026, 12:00 UTC. */
const WINTER = 1768478400;

describe('TZ', () => {
  test.each([
    ['Europe/Berlin', '14:00 CEST +0200'],
    [':America/New_York', '08:00 EDT -0400'],
    ['Asia/Kolkata', '17:30 IST +0530'],
    ['EST5EDT,M3.2.0,M11.1.0', '08:00 EDT -0400'],
    ['<+03>-3', '15:00 +03 +0300'],
    ['UTC', '12:00 UTC +0000'],
    ['', '12:00 UTC +0000'],
  ])('%s is the zone of date, and of printf in bash', async (zone, expected) => {
    const { stdout } = await run(`export TZ='${zone}'
date -d @${SUMMER} '+%H:%M %Z %z'; printf '%(%H:%M %Z %z)T\\n' ${SUMMER}`);
    expect(stdout).toBe(`${expected}\n${expected}\n`);
  });

  test.each([
    ['EST5EDT', '08:00 EDT', '07:00 EST'],
    ['CET-1CEST', '14:00 CEST', '13:00 CET'],
    ['<-03>3<-02>2', '10:00 -02', '09:00 -03'],
  ])('%s, a rule without dates, has those of the United States', async (zone, ...expected) => {
    const { stdout } = await run(`export TZ='${zone}'
for time in ${SUMMER} ${WINTER}; do date -d @$time '+%H:%M %Z'; printf '%(%H:%M %Z)T\\n' $time; done`);
    expect(stdout).toBe(expected.map((line) => `${line}\n${line}\n`).join(''));
  });

  test('is the zone of sqlite3, jq, ls and tar', async () => {
    const { stdout } = await run(`export TZ=Asia/Tokyo
sqlite3 :memory: "select time(${SUMMER}, 'unixepoch', 'localtime')"; jq -n '${SUMMER} | localtime | mktime'
touch -d '2026-07-14 21:00:00' a; TZ=UTC stat -c %y a | cut -c1-16; tar -cf a.tar a; TZ=UTC tar -tvf a.tar | grep -o '12:00'`);
    expect(stdout).toBe(`21:00:00\n${SUMMER + 9 * 3600}\n2026-07-14 12:00\n12:00\n`);
  });

  test('is the zone of python3 and node', async () => {
    const { stdout } = await run(`export TZ=Asia/Tokyo
python3 -c 'import time; print(time.localtime(${SUMMER}).tm_hour, time.tzname)'
node -p 'new Date(${SUMMER}000).toString()'; TZ=UTC node -p 'new Date(${SUMMER}000).getHours()'`);
    expect(stdout).toBe("21 ('JST', 'JST')\nTue Jul 14 2026 21:00:00 GMT+0900 (Japan Standard Time)\n12\n");
  });

  test('can change in a shell, and a session keeps it', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash', auto_persist_globals: true });
    const hour = `printf '%(%H)T ' ${SUMMER}`;
    await sandbox.execute('export TZ=Europe/Berlin');
    expect((await sandbox.execute(`${hour}; TZ=Asia/Tokyo; ${hour}; unset TZ; ${hour}`)).stdout).toBe(
      '14 21 12 ',
    );
  });

  test('that names no zone, a long text or another file is UTC', async () => {
    const { stdout } = await run(`head -c 100000 /dev/zero | tr '\\0' T > big
for zone in Mars/Olympus $(printf '%01000000d' 0) ../../../etc/passwd /app /dev/zero :/app/big; do
  TZ=$zone date -d @${SUMMER} +%H; done`);
    expect(stdout).toBe('12\n'.repeat(6));
  });

  test.each([['TZ=:/app/evil'], ['TZ=EST5EDT,M999999999.9.9/9,J999999999']])(
    'with data that musl does not check ends the command or the call: %s',
    async (zone) => {
      const file = "printf 'TZif2%0100d\\n' 0 > evil";
      const command = await run(`${file}; env ${zone} date; echo $?`);
      expect(command).toMatchObject({ stdout: '134\n', success: true });
      const call = await run(`${file}; export ${zone}; printf '%(%H)T' 0`);
      expect(call.metadata.trap_reason ?? 'finished').toMatch(/^(unreachable|finished)$/);
    },
  );

  test('can name a file of the workspace', async () => {
    const { stdout } = await run(
      `cp /usr/share/zoneinfo/Asia/Tokyo mine; TZ=:/app/mine date -d @${SUMMER} +%H`,
    );
    expect(stdout).toBe('21\n');
  });

  test('with many zones does not take memory for each', async () => {
    const zones =
      'for i in 1 2 3 4 5; do for zone in Europe/* Asia/*; do export TZ=$zone; printf -v now "%(%H)T" 0; done; done';
    const { stdout } = await run(
      `cd /usr/share/zoneinfo; ${zones}; export TZ=Asia/Tokyo; printf '%(%H)T' 0`,
      {
        memory_bytes: 2 ** 25,
      },
    );
    expect(stdout).toBe('09');
  });
});

describe('/usr/share/zoneinfo', () => {
  test('is read-only and has the zones of Python', async () => {
    const { stdout } =
      await run(`rm -f /usr/share/zoneinfo/UTC || echo kept; echo x > /usr/share/zoneinfo/Mine || echo refused
python3 -c '
import pathlib, zoneinfo, tzdata
folder = pathlib.Path("/usr/share/zoneinfo")
names = (pathlib.Path(tzdata.__file__).parent / "zones").read_text().split()
print(all((folder / name).read_bytes()[:4] == b"TZif" for name in names), len(names) > 500)'`);
    expect(stdout).toBe('kept\nrefused\nTrue True\n');
  });
});
