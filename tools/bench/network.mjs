/**
 * What a request costs a program, beside the same request of undici in this process: the time of a run with requests minus that of the
 * same run without them, divided by the number of requests. The server is on the loopback interface. Also what a permission costs
 * a program that sends no requests.
 */
import { createServer } from 'node:http';
import { createSandbox } from 'llm-wasm-sandbox';
import { Pool } from 'undici';
import { formatCount } from '../../packages/core/dist/quantities.js';
import { markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const REQUESTS = 200;
const PARALLEL = 16;
const ROUNDS = 11;
const BODY = JSON.stringify({ city: 'Berlin', celsius: 21 });

const programs = (origin) => ({
  'Python, urllib.request, one after another': [
    'python',
    (count) => `import urllib.request\nfor i in range(${count}): urllib.request.urlopen('${origin}/').read()`,
  ],
  'JavaScript, fetch, one after another': [
    'javascript',
    (count) => `for (let i = 0; i < ${count}; i++) await (await fetch('${origin}/')).text();`,
  ],
  [`JavaScript, fetch, ${PARALLEL} at a time`]: [
    'javascript',
    (count) =>
      `for (let i = 0; i < ${count}; i += ${PARALLEL}) await Promise.all(Array.from({ length: Math.min(${PARALLEL}, ${count} - i) }, async () => (await fetch('${origin}/')).text()));`,
  ],
});

async function plain(pool, count, width) {
  const send = async () => (await pool.request({ method: 'GET', path: '/' })).body.text();
  for (let i = 0; i < count; i += width)
    await Promise.all(Array.from({ length: Math.min(width, count - i) }, send));
}

async function sandboxes(origin) {
  const network = { allow: [`${origin}/*`], limits: { requests: 10_000 } };
  const open = (runtime, policy) => createSandbox({ runtime, policy });
  return {
    python: await open('python', { network }),
    javascript: await open('javascript', { network }),
    without: await open('javascript', {}),
  };
}

async function execute(sandbox, code) {
  const { success, stderr } = await sandbox.execute(code);
  if (!success) throw new Error(stderr);
}

export async function table() {
  const server = createServer((_, response) => response.end(BODY));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const pool = new Pool(origin, { connections: PARALLEL });
  const opened = await sandboxes(origin);
  const alternatives = {
    undici: { run: () => plain(pool, REQUESTS, 1) },
    'undici|parallel': { run: () => plain(pool, REQUESTS, PARALLEL) },
    'no request|permitted': { run: () => execute(opened.javascript, '1 + 1') },
    'no request|without': { run: () => execute(opened.without, '1 + 1') },
  };
  const all = programs(origin);
  for (const [name, [runtime, code]] of Object.entries(all)) {
    alternatives[`${name}|none`] = { run: () => execute(opened[runtime], code(0)) };
    alternatives[`${name}|requests`] = { run: () => execute(opened[runtime], code(REQUESTS)) };
  }
  const samples = await sampleInterleaved(alternatives, { warmup: 2, rounds: ROUNDS });
  const row = (name, costs, reference) => {
    const cost = median(costs);
    const added = reference === undefined ? '' : `${((cost - reference) * 1000).toFixed(0)} µs`;
    const p90 = `${(quantile(costs, 0.9) * 1000).toFixed(0)} µs`;
    return [name, formatCount(Math.round(1000 / cost)), `${(cost * 1000).toFixed(0)} µs`, p90, added];
  };
  const perRequest = (values, base = 0) => values.map((total) => (total - base) / REQUESTS);
  const references = {
    one: median(perRequest(samples.undici)),
    many: median(perRequest(samples['undici|parallel'])),
  };
  const rows = [
    row('undici, one after another', perRequest(samples.undici)),
    row(`undici, ${PARALLEL} at a time`, perRequest(samples['undici|parallel'])),
    ...Object.keys(all).map((name) =>
      row(
        name,
        perRequest(samples[`${name}|requests`], median(samples[`${name}|none`])),
        name.includes('at a time') ? references.many : references.one,
      ),
    ),
  ];
  const [permitted, without] = ['permitted', 'without'].map((kind) => median(samples[`no request|${kind}`]));
  for (const sandbox of Object.values(opened)) await sandbox.close();
  await pool.close();
  server.closeAllConnections();
  server.close();
  return markdown(
    'Requests',
    `A run sends ${formatCount(REQUESTS)} requests to a server on the loopback interface. The duration of a run without requests is subtracted, and the rest is divided by the number of requests. Median and 90th percentile of ${ROUNDS} runs. "Added" is the difference to undici without a sandbox.`,
    ['client', 'requests per second', 'median', 'p90', 'added'],
    rows,
    `A program that sends no requests takes ${ms(permitted)} ms in a sandbox with a permission and ${ms(without)} ms without one (${times(permitted / without)}).`,
  );
}
