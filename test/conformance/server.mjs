/** The HTTP server with the fixtures of the conformance suite. Prints its URL and exits when its input ends. */
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { addFixtures, FIXTURE_OPTIONS } from './fixtures.mjs';

const server = await serveHttp(
  { port: 0, rate_per_minute: 100_000 },
  {
    version: '0.0.0',
    serverOptions: FIXTURE_OPTIONS,
    extend: (factory) => (context) => addFixtures(factory(context)),
  },
);
process.stdout.write(`${server.url}\n`);
process.stdin.resume();
process.stdin.once('end', () => server.close().then(() => process.exit(0)));
