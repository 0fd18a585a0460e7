import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { createTelemetry, serveHttp } from 'llm-wasm-sandbox/mcp';
import { afterAll, expect, test } from 'vitest';
import { runScript } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient } from '../support/mcp.ts';

/** A minimal tracer provider that records spans and their status. */
const spans: { name: string; attributes: Record<string, unknown>; status?: unknown; ended: boolean }[] = [];
const tracer = {
  startSpan: () => {
    throw new Error('not used');
  },
  startActiveSpan: (name: string, _options: object, _parent: object, work: (span: unknown) => unknown) => {
    const span: (typeof spans)[number] = { name, attributes: {}, ended: false };
    spans.push(span);
    return work({
      setAttribute: (key: string, value: unknown) => {
        span.attributes[key] = value;
      },
      setStatus: (status: unknown) => {
        span.status = status;
      },
      end: () => {
        span.ended = true;
      },
    });
  },
};
trace.setGlobalTracerProvider({ getTracer: () => tracer } as never);
afterAll(() => trace.disable());

test('every tool call is recorded as a span, a log event and a metric, each with its outcome', async () => {
  const events: Record<string, unknown>[] = [];
  const record = (fields: object) => events.push(fields as Record<string, unknown>);
  const telemetry = await createTelemetry({ info: record, warn: record, error: record });
  const server = await serveHttp({ port: 0, optimization: 'demand' }, { telemetry });
  await using client = await httpClient(server, 'modern');
  const run = (code: string) => call(client, 'execute_code', { code, language: 'javascript' });
  await run('console.log("hidden words"); 1');
  await run('throw new Error("hidden words")');
  await call(client, 'execute_code', { code: 'for (;;);', language: 'javascript', fuel_budget: 5e7 });
  await call(client, 'list_files', { session_id: 'none' });
  await call(client, 'read_file', { hidden: 'hidden words' });

  const failed = (message: string) => ({ code: SpanStatusCode.ERROR, message });
  expect(spans.map(({ name, ended, status }) => [name, ended, status])).toEqual([
    ['tools/call execute_code', true, undefined],
    ['tools/call execute_code', true, failed('program_failed')],
    ['tools/call execute_code', true, failed('out_of_fuel')],
    ['tools/call list_files', true, failed('session_not_found')],
    ['tools/call read_file', true, failed('invalid_argument')],
  ]);
  expect(spans[0]!.attributes).toEqual({
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': '2026-07-28',
    'jsonrpc.request.id': expect.stringMatching(/^\d+$/),
    'network.transport': 'tcp',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'execute_code',
    'sandbox.tool': 'execute_code',
    'sandbox.tenant': 'local',
    'sandbox.session_id': 'default',
    'sandbox.ok': true,
    'sandbox.outcome': 'success',
    'sandbox.duration_ms': expect.any(Number),
    'sandbox.code_sha256': expect.stringMatching(/^[0-9a-f]{16}$/),
    'sandbox.code_chars': 30,
    'sandbox.language': 'javascript',
    'sandbox.success': true,
    'sandbox.fuel_consumed': expect.any(Number),
  });
  expect(spans[3]!.attributes).toMatchObject({
    'error.type': 'tool_error',
    'sandbox.outcome': 'session_not_found',
    'sandbox.ok': false,
  });
  const calls = events.filter(({ event }) => event === 'tool.call');
  // No record contains code, output or an error message of a program.
  expect(JSON.stringify([spans, calls])).not.toContain('hidden');
  expect(calls.map(({ ok, outcome }) => [ok, outcome])).toEqual([
    [true, 'success'],
    [true, 'program_failed'],
    [true, 'out_of_fuel'],
    [false, 'session_not_found'],
    [false, 'invalid_argument'],
  ]);

  const text = await (await fetch(server.url.replace('/mcp', '/metrics'))).text();
  expect(text).toContain('llm_wasm_sandbox_tool_calls_total{tool="execute_code",outcome="ok"} 3');
  expect(text).toContain('llm_wasm_sandbox_tool_calls_total{tool="list_files",outcome="error"} 1');
  expect(text).toContain('llm_wasm_sandbox_tool_calls_total{tool="read_file",outcome="error"} 1');
  for (const outcome of ['success', 'error', 'out_of_fuel'])
    expect(text).toContain(
      `llm_wasm_sandbox_execution_seconds_count{language="javascript",outcome="${outcome}"} 1`,
    );
  const { structured } = await call(client, 'get_metrics');
  expect(structured).toMatchObject({ executions: 3, succeeded: 1, failed: 2, tool_errors: 2 });
  await server.close();
});

test('spans are silently omitted without OpenTelemetry', async () => {
  // The built file and the one that it imports, in a folder from which no package can be resolved.
  const folder = folderOfTest();
  cpSync(
    new URL('../../packages/server/dist/server/telemetry.js', import.meta.url),
    join(folder, 'telemetry.js'),
  );
  const library = new URL('../../packages/core/dist/lib/internal.js', import.meta.url).pathname;
  const text = readFileSync(join(folder, 'telemetry.js'), 'utf8');
  writeFileSync(join(folder, 'telemetry.js'), text.replace('@llm-wasm-sandbox/core/internal', library));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const script = `
    import { createTelemetry } from './telemetry.js';
    await import('@opentelemetry/api').then(() => console.log('OpenTelemetry is installed'), () => {});
    const events = [];
    const log = { info: (f) => events.push(f), warn: (f) => events.push(f), error: (f) => events.push(f) };
    const { span } = await createTelemetry(log);
    const worked = await span('tool x', async (span) => {
      span.set('a', 1);
      span.fail('b');
      return 'worked';
    });
    console.log(worked, events.length);
  `;
  const { stdout, stderr } = await runScript(script, { cwd: folder });
  expect({ stdout, stderr }).toEqual({ stdout: 'worked 0\n', stderr: '' });
});
