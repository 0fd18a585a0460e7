import { expect, test } from 'vitest';
import {
  MessageLines,
  ServerTraffic,
  TrafficError,
} from '../../packages/server/src/gateway/server-traffic.ts';

test('lines of a tool server are the same, however their bytes are divided', () => {
  const text = `${JSON.stringify({ a: '€😀é'.repeat(200) })}\n\n{"b":1}\n`;
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, 5, 7, 64, bytes.length]) {
    const reader = new MessageLines(new ServerTraffic());
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.read(bytes.subarray(at, at + size)));
    expect(lines).toEqual(text.split('\n').filter((line) => line !== ''));
  }
});

// guarantee: untrusted-tool-servers
test('members count in the chunk in which they are, so a message with too many of them ends there', () => {
  const reader = new MessageLines(new ServerTraffic());
  const chunk = Buffer.from('[],'.repeat(20_000));
  const readChunks = () => {
    let chunks = 0;
    try {
      for (; chunks < 100; chunks++) for (const _ of reader.read(chunk));
    } catch (error) {
      expect(error).toBeInstanceOf(TrafficError);
    }
    return chunks;
  };
  expect(readChunks()).toBe(2);
});
