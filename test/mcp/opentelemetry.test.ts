/** @module-tag full */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { context, propagation, trace } from '@opentelemetry/api';
import { createTelemetry, serveHttp } from 'llm-wasm-sandbox/mcp';
import { expect, onTestFinished, test } from 'vitest';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { call, httpClient } from '../support/mcp.ts';

const SDK = '@opentelemetry/sdk-trace-node';
/** All copies of the API in a process must have the same version. */
const { version } = JSON.parse(
  readFileSync(new URL('../../node_modules/@opentelemetry/api/package.json', import.meta.url), 'utf8'),
);
const PACKAGES = [`${SDK}@2.12.0`, `@opentelemetry/api@${version}`];
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SERVER_KIND = 1;
const STATUS_ERROR = 2;

interface RecordedSpan {
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number; readonly message?: string };
  readonly attributes: Record<string, unknown>;
  readonly parentSpanContext?: { readonly traceId: string; readonly spanId: string };
  readonly links: readonly { readonly context: { readonly spanId: string } }[];
}

/** Registers the published OpenTelemetry SDK, which keeps the spans in memory. */
async function recordSpans(): Promise<() => RecordedSpan[]> {
  const folder = join(installPinned('opentelemetry', PACKAGES), 'node_modules', SDK);
  const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = await import(
    pathToFileURL(join(folder, 'build/src/index.js')).href
  );
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  onTestFinished(async () => {
    trace.disable();
    context.disable();
    propagation.disable();
    await provider.shutdown();
  });
  return () => exporter.getFinishedSpans();
}

test('spans in the published OpenTelemetry SDK follow its conventions and continue the trace of the client', async () => {
  const spans = await recordSpans();
  const ignore = () => {};
  const telemetry = await createTelemetry({ info: ignore, warn: ignore, error: ignore });
  const server = await serveHttp({ port: 0, optimization: 'demand' }, { telemetry });
  onTestFinished(() => server.close());
  const client = await httpClient(server, 'modern');
  onTestFinished(() => client.close());
  await client.callTool({
    name: 'execute_code',
    arguments: { code: '1', language: 'javascript' },
    _meta: { traceparent: `00-${TRACE}-${PARENT}-01` },
  });
  await call(client, 'execute_code', { code: 'throw 1', language: 'javascript' });
  await call(client, 'list_files', { session_id: 'none' });
  await client.callTool({
    name: 'execute_code',
    arguments: { code: '1', language: 'javascript' },
    _meta: { traceparent: 'x'.repeat(100_000), baggage: 5 },
  });
  const [traced, failed, refused, untraced] = spans() as [
    RecordedSpan,
    RecordedSpan,
    RecordedSpan,
    RecordedSpan,
  ];
  expect(spans()).toHaveLength(4);
  expect(traced).toMatchObject({
    name: 'tools/call execute_code',
    kind: SERVER_KIND,
    parentSpanContext: { traceId: TRACE, spanId: PARENT },
    attributes: {
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'jsonrpc.request.id': expect.any(String),
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'execute_code',
      'network.transport': 'tcp',
      'sandbox.outcome': 'success',
    },
  });
  expect(traced.attributes).not.toHaveProperty('error.type');
  expect(failed).toMatchObject({
    status: { code: STATUS_ERROR, message: 'program_failed' },
    attributes: { 'error.type': 'program_failed', 'sandbox.ok': true },
  });
  expect(refused).toMatchObject({
    status: { code: STATUS_ERROR, message: 'session_not_found' },
    attributes: { 'error.type': 'tool_error', 'sandbox.error': 'session_not_found' },
  });
  expect(untraced.parentSpanContext).toBeUndefined();
});

test('the span of the transport is linked if the client states another parent', async () => {
  const spans = await recordSpans();
  const ignore = () => {};
  const { span } = await createTelemetry({ info: ignore, warn: ignore, error: ignore });
  const http = trace.getTracer('http').startSpan('POST');
  await context.with(trace.setSpan(context.active(), http), async () => {
    await span('stated', async () => {}, { traceparent: `00-${TRACE}-${PARENT}-01` });
    await span('not stated', async () => {});
  });
  const { spanId } = http.spanContext();
  expect(spans()).toMatchObject([
    { name: 'stated', parentSpanContext: { spanId: PARENT }, links: [{ context: { spanId } }] },
    { name: 'not stated', parentSpanContext: { spanId }, links: [] },
  ]);
});
