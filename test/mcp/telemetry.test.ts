import { trace } from '@opentelemetry/api';
import { openObserver, serveHttp } from 'llm-wasm-sandbox/mcp';
import { afterAll, expect, test } from 'vitest';
import { call, httpClient } from '../support/mcp.ts';

/** A provider as small as the interface allows: it notes which spans were made and how they ended. */
const spans: { name: string; attributes: Record<string, unknown>; status?: unknown; ended: boolean }[] = [];
const tracer = {
  startSpan: () => {
    throw new Error('not used');
  },
  startActiveSpan: (name: string, work: (span: unknown) => unknown) => {
    const made: (typeof spans)[number] = { name, attributes: {}, ended: false };
    spans.push(made);
    return work({
      setAttribute: (key: string, value: unknown) => {
        made.attributes[key] = value;
      },
      setStatus: (status: unknown) => {
        made.status = status;
      },
      end: () => {
        made.ended = true;
      },
    });
  },
};
trace.setGlobalTracerProvider({ getTracer: () => tracer } as never);
afterAll(() => trace.disable());

test('a call is a span, an event and a number, and fails in all three when it fails', async () => {
  const events: Record<string, unknown>[] = [];
  const note = (fields: object) => events.push(fields as Record<string, unknown>);
  const observer = await openObserver({ info: note, warn: note, error: note });
  const server = await serveHttp({ port: 0 }, { observer });
  const client = await httpClient(server, 'modern');
  await call(client, 'execute_code', { code: '1', language: 'javascript' });
  await call(client, 'execute_code', { code: 'throw new Error("no")', language: 'javascript' });
  await call(client, 'list_files', { session_id: 'none' });

  expect(spans.map(({ name, ended }) => [name, ended])).toEqual([
    ['tool execute_code', true],
    ['tool execute_code', true],
    ['tool list_files', true],
  ]);
  expect(spans[0]!.attributes).toMatchObject({ 'sandbox.caller': 'local', 'sandbox.success': true });
  expect(spans[2]!.status).toMatchObject({ message: 'session_not_found' });
  expect(events.filter(({ event }) => event === 'tool.call').map(({ ok, success }) => [ok, success])).toEqual(
    [
      [true, true],
      [true, false],
      [false, undefined],
    ],
  );

  const text = await (await fetch(server.url.replace('/mcp', '/metrics'))).text();
  expect(text).toContain('llm_wasm_sandbox_tool_calls_total{tool="execute_code",outcome="ok"} 2');
  expect(text).toContain('llm_wasm_sandbox_tool_calls_total{tool="list_files",outcome="error"} 1');
  expect(text).toContain(
    'llm_wasm_sandbox_execution_seconds_count{language="javascript",outcome="success"} 1',
  );
  expect(text).toContain('llm_wasm_sandbox_execution_seconds_count{language="javascript",outcome="error"} 1');
  const { structured } = await call(client, 'get_metrics');
  expect(structured).toMatchObject({ executions: 2, succeeded: 1, failed: 1, tool_errors: 1 });
  await client.close();
  await server.close();
});
