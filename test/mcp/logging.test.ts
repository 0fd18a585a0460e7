/** @module-tag full */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { createTelemetry, serveHttp } from 'llm-wasm-sandbox/mcp';
import { describe, expect, test } from 'vitest';
import { CLI, call, httpClient } from '../support/mcp.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

/** A stdio server whose standard error is not read until the test does so. */
class RawServer {
  readonly child: ChildProcess;
  #output = '';

  constructor(stderr: 'pipe' | number, args: readonly string[] = []) {
    this.child = spawn(process.execPath, [CLI, 'mcp', ...args], { stdio: ['pipe', 'pipe', stderr] });
    this.child.stdout!.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString();
    });
    this.send(INITIALIZE);
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  send(message: object): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** Calls a tool and returns its result. */
  async call(id: number, name: string, args: object = {}): Promise<Record<string, unknown>> {
    this.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    for (;;) {
      const line = this.#output.split('\n').find((text) => new RegExp(`"id":${id}\\b`).test(text));
      if (line?.endsWith('}')) return JSON.parse(line).result;
      await new Promise((next) => setTimeout(next, 5));
    }
  }

  async end(): Promise<number | null> {
    this.child.stdin!.end();
    const [code] = await once(this.child, 'exit');
    return code;
  }
}

describe('the log of a server', () => {
  // guarantee: logging
  // proves: If the reader of the log stops reading, calls are not blocked, and dropped lines are counted.
  test('does not block calls when its reader stops, and counts the lines it drops', async () => {
    const server = new RawServer('pipe');
    const calls = 3000;
    const params = { name: 'list_files', arguments: { session_id: 'x'.repeat(60) } };
    for (let id = 1; id <= calls; id++) server.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
    expect(await server.call(calls + 1, 'list_files')).toMatchObject({ structuredContent: { total: 0 } });
    let log = '';
    server.child.stderr!.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    for (let id = calls + 2; !log.includes('"log.dropped"'); id++) await server.call(id, 'list_files');
    expect(await server.end()).toBe(0);
    const events = log
      .split('\n')
      // Node itself prints warnings as plain text.
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const dropped = events.find(({ event }) => event === 'log.dropped');
    expect(dropped.lines).toBeGreaterThan(0);
    expect(events.at(-1)).toMatchObject({ event: 'server.stop' });
  });

  // guarantee: logging
  // proves: Calls of a server succeed even if the disk for its log is full.
  test('does not fail calls when its disk is full', async () => {
    // Only Linux has a device that behaves like a full disk.
    if (!existsSync('/dev/full')) return;
    const server = new RawServer(openSync('/dev/full', 'w'));
    const result = await server.call(1, 'execute_code', { code: '6 * 7', language: 'javascript' });
    expect(result).toMatchObject({ structuredContent: { success: true, result: 42 } });
    expect(await server.end()).toBe(0);
  });

  // guarantee: logging
  test('does not stop the server when its reader closes the pipe', async () => {
    const server = new RawServer('pipe');
    server.child.stderr!.destroy();
    for (let id = 1; id <= 3; id++)
      expect(await server.call(id, 'list_files')).toMatchObject({ structuredContent: { total: 0 } });
    expect(await server.end()).toBe(0);
  });

  // guarantee: logging
  // proves: A log function that throws does not make calls fail.
  test('does not fail calls when it throws', async () => {
    const fail = () => {
      throw new Error('no space');
    };
    const telemetry = await createTelemetry({ info: fail, warn: fail, error: fail });
    const server = await serveHttp({ port: 0, optimization: 'demand' }, { telemetry });
    await using client = await httpClient(server, 'modern');
    const run = await call(client, 'execute_code', { code: '1 + 1', language: 'javascript' });
    expect(run.structured).toMatchObject({ success: true, result: 2 });
    expect((await call(client, 'list_files', { session_id: 'none' })).text).toMatch(/^session_not_found/);
    await server.close();
  });

  // guarantee: logging
  // proves: The log does not quote programs.
  test('quotes no program', async () => {
    const events: object[] = [];
    const record = (fields: object) => events.push(fields);
    const telemetry = await createTelemetry({ info: record, warn: record, error: record });
    const server = await serveHttp({ port: 0, optimization: 'demand' }, { telemetry });
    await using client = await httpClient(server, 'modern');
    const programs = [
      ['python', 'class HiddenError(Exception): pass\nraise HiddenError("hidden words")'],
      ['python', 'open("/etc/hidden")'],
      ['python', 'print({}["hidden"])'],
      ['javascript', 'throw new TypeError("hidden words")'],
      ['javascript', 'hidden()'],
    ];
    for (const [language, code] of programs) await call(client, 'execute_code', { code, language });
    const completed = events.filter((fields) => (fields as { event: string }).event === 'execution.complete');
    expect(completed).toHaveLength(programs.length);
    expect(JSON.stringify(events)).not.toMatch(/hidden/i);
    await server.close();
  });
});
