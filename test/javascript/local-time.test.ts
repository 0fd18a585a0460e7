/** The variable TZ in JavaScript: compared with the Node.js that runs the tests. */
import { execFileSync } from 'node:child_process';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

const inNode = (program: string, env: Record<string, string> = {}) =>
  execFileSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });

/** Prints local times from 1900 to 2100 and around changes of the offset, and the times of local dates there. */
const PRINT = code`
  const offset = (time) => new Date(time).getTimezoneOffset();
  const show = (time) => {
    const date = new Date(time);
    console.log(time, date.getFullYear(), date.getMonth(), date.getDate(), date.getDay(), date.getHours(), date.getMinutes(),
      date.getSeconds(), offset(time), time < 0 ? '' : date.toString());
  };
  const local = (time) => {
    const date = new Date(time);
    const parts = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()];
    const changed = new Date(0);
    changed.setFullYear(...parts.slice(0, 3));
    changed.setHours(parts[3], parts[4]);
    console.log('local', time, +new Date(...parts), Date.parse(date.toISOString().slice(0, 16)), +changed);
  };
  for (let year = 1900; year <= 2100; year++) {
    let low = Date.UTC(year, 0, 17), high = Date.UTC(year, 5, 17);
    show(low);
    show(high);
    if (offset(low) === offset(high)) continue;
    const before = offset(low);
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    for (const time of [low, high - 1, high, high + 1]) show(time);
    for (const hours of [-25, -1, 0, 0.5, 1, 2, 25]) local(high - before * 60000 + hours * 3600000);
  }
`;

const TEXTS = code`
  for (const text of ['2024-07-01', '2024-07', '2024-07-01T10:00', '2024-07-01 10:00:30', '2024-07-01T10:00Z', '2024-07-01T10:00+05:30',
    'July 1, 2024', 'Jul 1 2024 10:00 PM', '2024/07/01 10:00', '7/1/2024', 'Mon, 01 Jul 2024 10:00:00 GMT', '1 Jul 2024 10:00 EST',
    'Mon Jul 01 2024 10:00:00 GMT+0200 (CEST)', '2024-07-01T10:00:00.123', 'nothing'])
    console.log(text, Date.parse(text), new Date(text).getTime());
  class Mine extends Date {}
  const date = new Date(2024, 0, 31, 12);
  console.log(+new Date(date), +new Date([2024, 1]), +new Date({ valueOf: () => 5 }), new Date(NaN) + '', new Date(99, 0).getFullYear());
  console.log(date.setMonth(1), date.setHours(0, 0, 0, 0), date.setFullYear(2020), date.setYear(99), date.getYear(), date.setHours());
  console.log(new Mine(2024, 1, 2) instanceof Mine, new Mine() instanceof Date, Date.length, Date.name, typeof Date(), new Date(0).constructor === Date);
  console.log(new Date(0).toDateString(), new Date(0).toTimeString(), new Date(0).toLocaleString(), new Date(0).toISOString());
  console.log(Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(1e12).toLocaleString('de-DE', { timeZoneName: 'short' }));
`;

describe('local time in JavaScript', () => {
  test.each(['America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Auckland'])(
    'is that of Node.js from 1900 to 2100 in %s',
    { tags: 'full' },
    async (TZ) => {
      const { stdout } = await javascript(PRINT, { env: { TZ } });
      expect(stdout).toBe(inNode(PRINT, { TZ }));
    },
  );

  test.each(['America/New_York', 'Europe/Berlin', 'Asia/Tokyo', ':Asia/Kolkata', 'EST5EDT', 'UTC'])(
    'reads, changes and prints dates as Node.js does in %s',
    { tags: 'full' },
    async (TZ) => {
      const { stdout } = await javascript(TEXTS, { env: { TZ } });
      expect(stdout).toBe(inNode(TEXTS, { TZ }));
    },
  );

  test('follows assignments to process.env.TZ', { tags: 'full' }, async () => {
    const program = code`
      const show = () => console.log(new Date(0).toString(), new Date(2024, 6, 1).toISOString());
      process.env.TZ = 'Asia/Tokyo'; show();
      Object.assign(process.env, { TZ: 'Europe/Berlin' }); show();
      delete process.env.TZ; show();
      process.env.TZ = 'EST5'; show();
    `;
    expect((await javascript(program)).stdout).toBe(inNode(program));
  });

  test('is UTC for a zone that does not exist', async () => {
    const { stdout } = await javascript(
      "for (process.env.TZ of ['Mars/Olympus', '', 'x'.repeat(1e5), '../UTC']) console.log(new Date(0).getHours())",
    );
    expect(stdout).toBe('0\n0\n0\n0\n');
  });

  test('stays in a session, and returns with a rollback', async () => {
    await using session = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const hour = async () => (await session.execute('console.log(new Date(0).getHours())')).stdout;
    await session.execute("process.env.TZ = 'Asia/Tokyo'");
    await session.checkpoint('tokyo');
    await session.execute("process.env.TZ = 'Europe/Berlin'");
    expect(await hour()).toBe('1\n');
    await session.rollback('tokyo');
    expect(await hour()).toBe('9\n');
  });
});
