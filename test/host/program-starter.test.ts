import { getPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { ProgramStarter } from '../../packages/core/src/host/program-starter.ts';

const starter = new ProgramStarter();
afterAll(() => starter.close());

const run = (program: string) => starter.start(process.execPath, ['-e', program], { env: {} });
const isPosix = process.platform !== 'win32';

describe('programs that a starter starts', () => {
  it('have its process as parent, which starts once, and lose nothing of their output', async () => {
    const programs = await Promise.all(
      [1, 2].map(() => run('console.log(process.ppid, "€".repeat(100_000))')),
    );
    const outputs = await Promise.all(programs.map(({ stdio }) => text(stdio)));
    const parents = new Set(outputs.map((output) => Number.parseInt(output, 10)));
    expect(outputs.map((output) => output.trim().split(' ')[1]!.length)).toEqual([100_000, 100_000]);
    expect(await programs[0]!.exited).toBe('it exited with code 0');
    if (!isPosix) return;
    expect(parents.size).toBe(1);
    expect([...parents]).toEqual([starter.prepare().pid]);
  });

  it('read what is written, and the end of it', async () => {
    const { stdio } = await run('process.stdin.pipe(process.stdout)');
    stdio.end('hello');
    expect(await text(stdio)).toBe('hello');
  });

  it.runIf(isPosix)('have a lower priority than this process', async () => {
    const { stdio } = await run('console.log(require("os").getPriority())');
    expect(Number(await text(stdio))).toBe(Math.min(19, getPriority() + 5));
  });

  it('can be killed', async () => {
    const { kill, exited } = await run('setInterval(() => {}, 1e6)');
    kill('SIGKILL');
    expect(await exited).toContain(isPosix ? 'SIGKILL' : 'exited');
    kill('SIGKILL');
  });

  it('are refused with a reason if there is no such program', async () => {
    await expect(starter.start('no-such-program', [], { env: { PATH: '/bin' } })).rejects.toThrow(
      'The program no-such-program was not found',
    );
    const missing = { env: {}, cwd: '/no/such/folder' };
    await expect(starter.start(process.execPath, [], missing)).rejects.toThrow('ENOENT');
  });

  it.runIf(isPosix)(
    'count as ended if its process ends, and the next one starts another process',
    async () => {
      const { exited } = await run('process.stdin.resume()');
      const before = starter.prepare();
      before.kill('SIGKILL');
      expect(await exited).toBe('the process that starts programs has ended');
      expect(await text((await run('console.log(process.ppid)')).stdio)).not.toBe(`${before.pid}\n`);
    },
  );
});
