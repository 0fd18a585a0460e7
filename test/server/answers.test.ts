import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nextTurn } from '../../packages/core/src/concurrency/slices.ts';
import { ResponseStream } from '../../packages/server/src/server/response-stream.ts';
import { encodedJson, respond, sendFile } from '../../packages/server/src/server/rest-call.ts';

const MIB = 1024 * 1024;

/** What the server does with the next request. */
let answer: (response: ServerResponse) => Promise<void>;
const server = createServer((_, response) => void answer(response));

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const port = () => (server.address() as AddressInfo).port;
const received = () => fetch(`http://127.0.0.1:${port()}/`);

/** Counts slices. */
function counted() {
  const count = { slices: 0 };
  const nextSlice = () => {
    count.slices++;
    return nextTurn();
  };
  return { count, nextSlice };
}

describe('answers', () => {
  test('a value is written in slices', async () => {
    const { count, nextSlice } = counted();
    const value = {
      text: 'é"'.repeat(MIB),
      list: Array.from({ length: 50_000 }, (_, i) => ({ name: `f${i}` })),
    };
    answer = (response) => respond({ response, nextSlice }, 201, value, { 'x-next': '1' });
    const response = await received();
    expect([response.status, response.headers.get('x-next')]).toEqual([201, '1']);
    expect(await response.json()).toEqual(value);
    expect(count.slices).toBeGreaterThan(30);
  });

  test('a file is sent in slices, also from shared memory', async () => {
    const { count, nextSlice } = counted();
    const data = new Uint8Array(new SharedArrayBuffer(4 * MIB)).fill(7);
    answer = (response) => sendFile({ response, nextSlice }, data);
    const response = await received();
    expect(response.headers.get('content-length')).toBe(`${data.length}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(new Uint8Array(data))).toBe(true);
    expect(count.slices).toBeGreaterThan(10);
    answer = (response) => sendFile({ response, nextSlice }, new Uint8Array());
    expect(await (await received()).text()).toBe('');
  });

  test('an answer ends when its client leaves', async () => {
    const { count, nextSlice } = counted();
    const ended = new Promise<void>((resolve) => {
      answer = async (response) => {
        const leaving = () => {
          if (count.slices === 3) response.destroy();
          return nextSlice();
        };
        await sendFile({ response, nextSlice: leaving }, new Uint8Array(64 * MIB));
        resolve();
      };
    });
    await expect(received().then((response) => response.arrayBuffer())).rejects.toThrow();
    await ended;
    expect(count.slices).toBeLessThan(6);
  });
});

describe('messages of a response', () => {
  test('are sent in order, whatever the time they take to encode', async () => {
    const { count, nextSlice } = counted();
    answer = async (response) => {
      const stream = new ResponseStream(response, 'text/plain');
      const line = (value: unknown) => stream.send(() => encodedJson(value, nextSlice, { end: '\n' }));
      void line('x'.repeat(MIB));
      void line('short');
      expect(stream.isIdle).toBe(false);
      await stream.end();
      await line('late');
    };
    const text = await (await received()).text();
    expect(text.split('\n').map(({ length }) => length)).toEqual([MIB + 2, 7, 0]);
    expect(count.slices).toBeGreaterThan(10);
  });

  test('are not encoded before the client reads', async () => {
    let encoded = 0;
    let stream: ResponseStream | undefined;
    answer = async (response) => {
      stream = new ResponseStream(response, 'text/plain');
      const encode = async () => {
        encoded++;
        return Buffer.alloc(MIB);
      };
      for (let i = 0; i < 200; i++) void stream.send(encode);
    };
    const socket = connect(port(), '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    // Sockets of the system take some messages.
    await expect.poll(() => encoded).toBeGreaterThan(0);
    for (let i = 0; i < 100; i++) await nextTurn();
    expect(encoded).toBeLessThan(100);
    socket.destroy();
    await expect.poll(() => stream!.isIdle).toBe(true);
    expect(encoded).toBeLessThan(100);
  });
});
