import { createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nextTurn } from '../../packages/core/src/concurrency/slices.ts';
import { HttpError } from '../../packages/server/src/server/http-error.ts';
import { parseJsonBytes, readBody, readJsonBody } from '../../packages/server/src/server/request-body.ts';
import { ByteBudget } from '../../packages/server/src/server/request-byte-budget.ts';

const MIB = 1024 * 1024;
const JSON_LIMITS = { depth: 8, members: 100, literalChars: 100 };

/** What the server does with the next request. */
let read: (request: IncomingMessage) => Promise<unknown>;
const server = createServer(async (request, response) => {
  const answer = await read(request).catch((cause: unknown) => {
    if (!(cause instanceof HttpError)) throw cause;
    return { status: cause.status, message: cause.message };
  });
  response.end(JSON.stringify(answer));
});

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

const port = () => (server.address() as AddressInfo).port;

async function post(data: Uint8Array | string, encoding?: string): Promise<unknown> {
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
  const body = typeof data === 'string' ? data : new Uint8Array(data);
  const response = await fetch(`http://127.0.0.1:${port()}/`, { method: 'POST', headers, body });
  return response.json();
}

const limitsOf = (budget: ByteBudget) => ({ maxBytes: MIB, budget, nextSlice: () => nextTurn() });

describe('bodies of requests', () => {
  test('a compressed body is read like any other', async () => {
    const budget = new ByteBudget(4 * MIB);
    read = async (request) => (await readBody(request, limitsOf(budget))).length;
    expect(await post(gzipSync('x'.repeat(100_000)), 'gzip')).toBe(100_000);
    expect(budget.used).toBe(100_000);
    read = (request) => readJsonBody(request, limitsOf(budget));
    expect(await post(gzipSync('{"a":[1,2]}'), 'gzip')).toEqual({ a: [1, 2] });
  });

  test('what a compressed body expands to is limited', async () => {
    const budget = new ByteBudget(4 * MIB);
    read = (request) => readBody(request, { ...limitsOf(budget), maxDecodedBytes: 2 * MIB });
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    expect(await post(bomb, 'gzip')).toMatchObject({
      status: 413,
      message: expect.stringContaining('2097152'),
    });
    expect(budget.used).toBe(0);
    read = (request) => readBody(request, { ...limitsOf(new ByteBudget(MIB)), maxDecodedBytes: 2 * MIB });
    expect(await post(bomb, 'gzip')).toMatchObject({
      status: 413,
      message: expect.stringContaining(`${(MIB * 15) / 16} bytes`),
    });
  });

  test('what compressed bodies expand to counts as bytes of the tenant', async () => {
    const budget = new ByteBudget(MIB);
    budget.take(MIB / 2);
    read = (request) => readBody(request, limitsOf(budget));
    expect(await post(gzipSync(Buffer.alloc(MIB)), 'gzip')).toMatchObject({ status: 503 });
    expect(budget.used).toBe(MIB / 2);
  });

  test('other encodings and damaged data are refused', async () => {
    read = (request) => readBody(request, limitsOf(new ByteBudget(MIB)));
    expect(await post('x', 'br')).toMatchObject({ status: 415, message: expect.stringContaining('gzip') });
    expect(await post('not gzip', 'gzip')).toMatchObject({
      status: 400,
      message: expect.stringContaining('gzip'),
    });
    const cut = gzipSync(Buffer.from('x'.repeat(1000))).subarray(0, 15);
    expect(await post(cut, 'gzip')).toMatchObject({ status: 400 });
  });

  test('a compressed body that its client does not finish is an error', async () => {
    const failed = new Promise((resolve) => {
      read = (request) => readBody(request, limitsOf(new ByteBudget(MIB))).catch(resolve);
    });
    const headers = { 'content-encoding': 'gzip', 'content-length': 1000 };
    const client = send({ port: port(), host: '127.0.0.1', method: 'POST', headers });
    client.on('error', () => {});
    client.write(gzipSync('x'.repeat(5000)).subarray(0, 12), () => setTimeout(() => client.destroy(), 50));
    expect(await failed).toMatchObject({ status: 400, message: expect.stringContaining('incomplete') });
  });

  test('JSON inside a body is limited and parsed in slices', async () => {
    let slices = 0;
    const nextSlice = async () => void slices++;
    const parse = (text: string) => parseJsonBytes(Buffer.from(text), JSON_LIMITS, nextSlice);
    expect(await parse('{"a":1}')).toEqual({ a: 1 });
    expect(slices).toBe(0);
    const long = 'x'.repeat(2 * MIB);
    expect(await parse(JSON.stringify({ long }))).toEqual({ long });
    expect(slices).toBeGreaterThan(30);
    await expect(parse('[[[[[[[[[1]]]]]]]]]')).rejects.toThrow(/nested more than 8/);
    await expect(parse(`[${'1,'.repeat(200)}1]`)).rejects.toThrow(/more than 100 members/);
    await expect(parse('{')).rejects.toMatchObject({ status: 400 });
  });
});
