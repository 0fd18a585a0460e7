/** The check of lines on standard input before they reach the transport. */
import { describe, expect, test } from 'vitest';
import { CheckedLines } from '../../packages/server/src/mcp/stdio-lines.ts';

/** The chunks that are passed on and the number of messages that are rejected. */
function feed(...chunks: readonly string[]) {
  const passed: string[] = [];
  let rejected = 0;
  const lines = new CheckedLines(
    () => rejected++,
    async () => {},
  );
  lines.on('data', (chunk: Buffer) => passed.push(chunk.toString()));
  for (const chunk of chunks) lines.write(chunk);
  return new Promise<{ passed: string[]; rejected: number }>((resolve) => {
    lines.on('end', () => resolve({ passed, rejected })).end();
  });
}

const MESSAGE = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';

describe('lines on standard input', () => {
  test('are passed on whole, however they arrive', async () => {
    const parts = [
      MESSAGE.slice(0, 7),
      MESSAGE.slice(7) + MESSAGE.slice(0, 1),
      MESSAGE.slice(1),
      ` ${MESSAGE}`,
    ];
    expect(await feed(...parts)).toEqual({ passed: [MESSAGE, MESSAGE, ` ${MESSAGE}`], rejected: 0 });
  });

  test.each(['\n', '\r\n', ' \t\n', 'x\n', '7\n', '"{"\n', '\0\n'])(
    'are dropped if they cannot be messages: %j',
    async (line) => {
      expect(await feed(line.repeat(100_000), MESSAGE)).toEqual({ passed: [MESSAGE], rejected: 0 });
    },
  );

  test('are rejected if they are too deep', async () => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}\n`;
    expect(await feed(deep, MESSAGE)).toEqual({ passed: [MESSAGE], rejected: 1 });
  });

  // guarantee: request-limits
  // proves: Messages on standard input wait while the client leaves answers unread.
  test('wait until there is room for their answers', async () => {
    const passed: number[] = [];
    let makeRoom = () => {};
    const lines = new CheckedLines(
      () => {},
      () =>
        new Promise((resolve) => {
          makeRoom = resolve;
        }),
    );
    lines.on('data', (chunk: Buffer) => passed.push(chunk.length));
    const written = new Promise<void>((resolve) => lines.write(MESSAGE.repeat(100), () => resolve()));
    const turn = () => new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
    await turn();
    expect(passed.length).toBeLessThan(100);
    const isDone = written.then(() => true);
    while (!(await Promise.race([isDone, turn()]))) makeRoom();
    expect(passed).toHaveLength(100);
  });
});
