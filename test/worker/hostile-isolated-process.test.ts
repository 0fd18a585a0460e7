/**
 * A process with guests that has been taken over: whatever it sends, its parent process ends it and reports its threads as ended.
 *
 * @module-tag full
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { IsolatedHost } from '../../packages/core/src/worker/isolation/isolated-host.ts';
import { encodeUntrusted } from '../../packages/core/src/worker/isolation/isolation-channel.ts';

const hex = (message: unknown) => encodeUntrusted(message).toString('hex');

/** Programs that have the channel as `send`. */
const ATTACKS: Record<string, string> = {
  'a frame of 4 GiB, of which it sends one part after another':
    'send(Buffer.from("000000000100", "hex")); setInterval(() => send(Buffer.alloc(65536)), 1)',
  'millions of objects in a few megabytes': `const values = Buffer.alloc(10_000_000, Buffer.from([9, 0]));
    const body = Buffer.concat([Buffer.alloc(4), Buffer.from([8, 0xc0, 0x96, 0xb1, 0x02]), values]);
    body.writeUInt32LE(body.length - 4);
    const head = Buffer.alloc(6); head.writeUIntLE(body.length, 0, 6);
    send(Buffer.concat([head, body]))`,
  'messages that nobody awaits, without end': `const flood = Buffer.concat(new Array(1000).fill(Buffer.from("${hex({ type: 'fuel', thread: 1, spent: 1 })}", "hex")));
    const more = () => { while (send(flood)); };
    socket.on('drain', more); more()`,
  'a message of another version': `send(Buffer.from("${hex({ type: 'started', thread: 1, job: 1, extra: 1 })}", "hex"))`,
  'what is no message': 'send(Buffer.alloc(65536, 1))',
};

// guarantee: separate-process
// proves: A process with guests that sends endless frames, millions of objects or a flood of messages is ended.
test.each(Object.entries(ATTACKS))('a process that sends %s is ended', async (_, attack) => {
  let child: ChildProcess | undefined;
  const script = `const socket = new (require('node:net').Socket)({ fd: 3 });
    socket.on('error', () => {});
    const send = (bytes) => socket.write(bytes);
    ${attack};
    setInterval(() => {}, 1000);`;
  const host = new IsolatedHost(() => {
    child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
    return child;
  });
  const received: unknown[] = [];
  await new Promise<void>((exit) => {
    host.start({ message: (message) => received.push(message), exit }).setRef(true);
  });
  expect(child).toMatchObject({ signalCode: 'SIGKILL' });
  expect(received).toEqual([]);
});
