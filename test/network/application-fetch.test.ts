/**
 * What an application that uses the library notices of its HTTP client: nothing.
 *
 * @module-tag full
 */
import { expect, test } from 'vitest';
import { runScript } from '../support/cli.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';

/** The library sends a request before the application has used `fetch`, and after it has chosen how its `fetch` sends. */
const script = (origin: string) => `
  import { createSandbox } from 'llm-wasm-sandbox';
  const { fetch: before } = globalThis;
  const sandbox = await createSandbox({
    runtime: 'javascript',
    policy: { network: { allow: [{ url: '${origin}/*', addresses: ['127.0.0.1'] }] } },
  });
  const ask = async () => (await sandbox.execute('await (await fetch("${origin}/guest")).text()')).results[0].text;
  const guest = [await ask()];
  // The client of the library, whose functions an application can use as well.
  const { Agent, getGlobalDispatcher, setGlobalDispatcher } = await import('undici');
  const isOfNode = !(getGlobalDispatcher() instanceof Agent);
  const paths = [];
  const own = new Agent().compose((dispatch) => (options, handler) => {
    paths.push(options.path);
    return dispatch(options, handler);
  });
  setGlobalDispatcher(own);
  guest.push(await ask());
  const application = await (await fetch('${origin}/application')).text();
  await sandbox.close();
  await own.close();
  console.log(JSON.stringify({
    guest, application, paths, isOfNode, isOwn: getGlobalDispatcher() === own, isFetch: fetch === before,
  }));`;

// guarantee: network
// proves: An application keeps its own `fetch`, and how it sends requests, while the library sends those of programs.
test('an application keeps its own fetch and its dispatcher', async () => {
  await using server = await startLoopbackServer({
    '/guest': (_, response) => void response.end('of the guest'),
    '/application': (_, response) => void response.end('of the application'),
  });
  const { status, stdout, stderr } = await runScript(script(server.origin));
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    guest: ['of the guest', 'of the guest'],
    application: 'of the application',
    paths: ['/application'],
    isOfNode: true,
    isOwn: true,
    isFetch: true,
  });
});
