/**
 * The options of `run` for requests, with servers on the loopback interface.
 *
 * @module-tag full
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testAuthority } from '../support/certificates.ts';
import { runCli } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';

const folder = folderOfFile();
const authority = testAuthority();
const SECRET = 'weather-key-0123456789';
const server = await sharedByFile(startLoopbackServer());
const secure = await sharedByFile(startLoopbackServer({}, authority.issue(['127.0.0.1'])));
writeFileSync(join(folder, 'ca.pem'), authority.cert);

const KEY = { WEATHER: SECRET, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };

/** Runs a program that prints the response to a request with a key. */
function run(url: string, flags: readonly string[], language: 'js' | 'py' = 'js') {
  const program = {
    js: `const response = await fetch('${url}', { headers: { authorization: process.env.KEY ?? 'none' } });\nconsole.log(response.status, await response.text());`,
    py: `import os, urllib.request\nrequest = urllib.request.Request('${url}', headers={'Authorization': os.environ.get('KEY', 'none')})\nresponse = urllib.request.urlopen(request)\nprint(response.status, response.read().decode())`,
  }[language];
  const file = join(folder, `program.${language}`);
  writeFileSync(file, program);
  return runCli(['run', file, '--no-packages', ...flags], { env: KEY });
}

test('--allow-net permits requests, and the error of others names the option', async () => {
  const { stdout, status } = await run(`${server.origin}/weather`, ['--allow-net', `${server.origin}/*`]);
  expect(stdout).toContain('200 {"city":"Berlin"');
  expect(status).toBe(0);
  const refused = await run('https://other.example/', ['--allow-net', `${server.origin}/*`]);
  expect(refused.stderr).toContain(
    "with the option --allow-net 'https://other.example/*'. Trying again will not help",
  );
  expect(refused.status).toBe(1);
  const without = await run(`${server.origin}/weather`, []);
  expect(without.stderr).toContain('no network');
  const guided = await run(`${server.origin}/weather`, ['--guidance']);
  expect(guided.stderr).toContain(`Access over HTTP can be permitted: --allow-net '${server.origin}/*'`);
});

test('--allow-net without a scheme says what a pattern looks like', async () => {
  const { stderr, status } = await run(server.origin, ['--allow-net', 'api.example.com']);
  expect(stderr).toContain('It must begin with https:// or http://, as in https://api.example.com/v1/*.');
  expect(status).toBe(2);
});

test.each(['js', 'py'] as const)('HTTPS is verified (%s)', async (language) => {
  const flags = ['--allow-net', `${secure.origin}/*`];
  const { stdout, stderr } = await run(`${secure.origin}/weather`, flags, language);
  expect(stderr).toBe('');
  expect(stdout).toContain('200 {"city":"Berlin"');
  const file = join(folder, `program.${language}`);
  const untrusted = await runCli(['run', file, '--no-packages', ...flags]);
  expect(untrusted.stderr).toMatch(/certificate/);
  expect(untrusted.status).toBe(1);
});

// guarantee: secrets
test('--secret sends a variable of the host that programs do not see', async () => {
  const flags = ['--allow-net', `${server.origin}/*`, '--secret', 'KEY=env:WEATHER'];
  const { stdout, stderr } = await run(`${server.origin}/echo`, flags);
  expect(server.requests.at(-1)!.headers.authorization).toBe(SECRET);
  expect(stdout).toContain('200 ');
  expect(stdout + stderr).not.toContain(SECRET);
  const invalid = await run(`${server.origin}/echo`, [...flags.slice(0, 2), '--secret', 'KEY']);
  expect(invalid.stderr).toContain('--secret: expected NAME=env:VARIABLE or');
  const nowhere = await run(`${server.origin}/echo`, ['--secret', 'KEY=env:WEATHER']);
  expect(nowhere.stderr).toContain('--secret requires --allow-net, which names the URLs');
  const unset = await run(`${server.origin}/echo`, [...flags.slice(0, 2), '--secret', 'KEY=env:NOT_SET']);
  expect(unset.stderr).toContain('the environment variable NOT_SET is not set');
});

test('--record writes a file from which --replay answers without sending anything', async () => {
  const har = join(folder, 'weather.har');
  const allow = ['--allow-net', `${server.origin}/*`, '--secret', 'KEY=env:WEATHER'];
  const live = await run(`${server.origin}/weather`, [...allow, '--record', har]);
  expect(readFileSync(har, 'utf8')).not.toContain(SECRET);
  const count = server.requests.length;
  const again = await run(`${server.origin}/weather`, [...allow, '--replay', har]);
  expect(again.stdout).toBe(live.stdout);
  const other = await run(`${server.origin}/csv`, [...allow, '--replay', har]);
  expect(other.stderr).toContain('is not in the recording');
  const unset = allow.with(-1, 'KEY=env:NOT_SET');
  expect((await run(`${server.origin}/weather`, [...unset, '--replay', har])).stdout).toBe(live.stdout);
  expect(server.requests.length).toBe(count);
});

test('--record without a permission is an error, and keeps a recording that exists', async () => {
  const har = join(folder, 'kept.har');
  await run(`${server.origin}/weather`, ['--allow-net', `${server.origin}/*`, '--record', har]);
  const recording = readFileSync(har, 'utf8');
  const { stderr, status } = await run(`${server.origin}/weather`, ['--record', har]);
  expect(stderr).toContain('--record requires --allow-net or --ask-net');
  expect(status).toBe(2);
  expect(readFileSync(har, 'utf8')).toBe(recording);
});

test('--ask-net without a terminal refuses requests', async () => {
  const { stderr, status } = await run('https://other.example/', ['--ask-net']);
  expect(stderr).toContain(
    'The call was not approved. Reason: there is no terminal on which to ask for approval. Trying again',
  );
  expect(status).toBe(1);
  // Approval cannot permit private addresses, so nobody is asked.
  const loopback = await run(`${server.origin}/weather`, ['--ask-net']);
  expect(loopback.stderr).toContain(`with the option --allow-net '${server.origin}/*'`);
});
