/**
 * Typed answers to the questions of --ask-net. A recording answers the requests, so nothing is sent.
 *
 * @module-tag full
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { Terminal, withoutColors } from '../support/terminal.ts';

const folder = folderOfFile();

const QUESTION = /Type (\d{4}) to allow this request/;

/** A recording with one answer for each URL. */
function recording(...urls: string[]): string {
  const entries = urls.map((url) => ({
    startedDateTime: '2026-01-01T00:00:00Z',
    time: 1,
    request: { method: 'GET', url, headers: [] },
    response: {
      status: 200,
      statusText: 'OK',
      headers: [],
      content: { size: 2, mimeType: 'text/plain', text: 'ok' },
    },
  }));
  const file = join(folder, 'answers.har');
  writeFileSync(file, JSON.stringify({ log: { version: '1.2', entries } }));
  return file;
}

function open(code: string, ...urls: string[]): Terminal {
  const file = join(folder, 'program.js');
  writeFileSync(file, code);
  return new Terminal(['run', file, '--no-packages', '--ask-net', '--replay', recording(...urls)]);
}

const fetching = (...urls: string[]) =>
  `for (const url of ${JSON.stringify(urls)})
  await fetch(url).then(async (r) => console.log(url, await r.text()), (e) => console.log(url, e.message));`;

test('the code allows one request, and the code with s all with the same method and origin', async () => {
  const urls = ['https://a.example/1', 'https://a.example/2', 'https://a.example/3'];
  using terminal = open(fetching(...urls), ...urls);
  const [, first] = await terminal.shows(QUESTION);
  terminal.type(`${first}\n`);
  await terminal.shows(/a\.example\/1 ok/);
  const [, second] = await terminal.shows(QUESTION);
  expect(second).not.toBe(first);
  terminal.type(`${second}s\n`);
  await terminal.shows(/a\.example\/2 ok/);
  await terminal.shows(/a\.example\/3 ok/);
  expect(await terminal.exitCode()).toBe(0);
  expect(withoutColors(terminal.output).match(new RegExp(QUESTION, 'g'))).toHaveLength(2);
});

test('anything else denies one request, and "never" all with the same method and origin', async () => {
  const urls = ['https://a.example/1', 'https://a.example/2', 'https://a.example/3'];
  using terminal = open(fetching(...urls), ...urls);
  const [, code] = await terminal.shows(QUESTION);
  terminal.type(`${code}x\n`);
  await terminal.shows(/a\.example\/1 fetch failed: .*a person denied the call/);
  await terminal.shows(QUESTION);
  terminal.type('never\n');
  await terminal.shows(/a\.example\/2 fetch failed: .*a person denied the call/);
  await terminal.shows(
    /a\.example\/3 fetch failed: a person has refused GET https:\/\/a\.example for this session/,
  );
  expect(await terminal.exitCode()).toBe(0);
});

test('asks about the requests of curl', async () => {
  const code = `const { spawnSync } = require('child_process');
for (const path of ['1', '2']) {
  const { status, stdout, stderr } = spawnSync('curl', ['-s', 'https://a.example/' + path]);
  console.log(path, status, String(stdout), String(stderr));
}`;
  using terminal = open(code, 'https://a.example/1', 'https://a.example/2');
  const [, first] = await terminal.shows(QUESTION);
  terminal.type(`${first}\n`);
  await terminal.shows(/1 0 ok/);
  await terminal.shows(QUESTION);
  terminal.type('no\n');
  await terminal.shows(/2 7 {2}curl: \(7\) GET https:\/\/a\.example\/2 is not permitted/);
  expect(await terminal.exitCode()).toBe(0);
});
