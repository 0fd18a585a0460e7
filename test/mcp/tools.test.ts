import type { Client } from '@modelcontextprotocol/client';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relatedDocs } from '../../packages/core/src/analysis/build-guidance.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { call, ERAS, type Era, httpClient, startHttp, stdioClient } from '../support/mcp.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('tools over http, modern era', () => testTools('modern', 'http'));
describe('tools over http, legacy era', { tags: 'full' }, () => testTools('legacy', 'http'));
describe.each(ERAS)('tools over stdio, %s era', { tags: 'full' }, (era) => testTools(era, 'stdio'));

function testTools(era: Era, transport: 'http' | 'stdio'): void {
  let client: Client;
  let server: HttpServer | undefined;

  beforeAll(async () => {
    if (transport === 'stdio') ({ client } = await stdioClient(era));
    else {
      server = await startHttp();
      client = await httpClient(server, era);
    }
  });
  afterAll(async () => {
    await client.close();
    await server?.close();
  });

  test('execute_code shows where a run stopped and, if asked, which lines used the fuel', async () => {
    const { text, structured } = await call(client, 'execute_code', {
      code: 'n = 5\nwhile n != 1:\n    n = 3 * n - 1 if n % 2 else n // 2\n',
      language: 'python',
      fuel_budget: 30_000_000,
      profile: true,
    });
    expect(structured['stopped_at']).toMatchObject({ file: '/app/main.py', function: '<module>' });
    expect(text).toMatch(/^stopped at \/app\/main\.py:[23] in <module>, with n = \d+$/m);
    expect(text).toMatch(/^fuel by line \(\d+ samples\):\n +[\d.]+% {2}\/app\/main\.py:[23] {2}/m);
    expect(structured['fuel_profile']).toMatchObject({
      sample_fuel: expect.any(Number),
      samples: expect.any(Number),
    });
    expect(structured['fuel_profile']).not.toHaveProperty('stacks');
    expect(structured['fuel_analysis']).toMatchObject({ cause: 'probably_endless' });
    const [summary = ''] = text.split('\n').filter((line) => line.startsWith('fuel: '));
    expect(summary).toMatch(/^fuel: [\d.]+M of 30M \(.*[^.]\.$/);
    // The status says that the budget is used up; `%` alone is an operator of the program.
    expect(summary).not.toMatch(/\d ?%/);
  });

  test('execute_code accepts timeout for timeout_seconds, and answers unknown arguments with similar ones', async () => {
    const limited = { code: 'import time\ntime.sleep(60)', language: 'python', timeout: 0.2 };
    expect((await call(client, 'execute_code', limited)).structured).toMatchObject({
      trap_reason: 'timeout',
    });
    const both = await call(client, 'execute_code', { ...limited, timeout_seconds: 0.2 });
    expect(both).toMatchObject({ isError: true });
    const misspelt = await call(client, 'execute_code', { code: '1', language: 'python', fuel_buget: 1 });
    expect(misspelt.text).toContain('arguments has no field "fuel_buget". Did you mean "fuel_budget"?');
    const tooLarge = await call(client, 'execute_code', { code: '1', language: 'python', fuel_budget: 9e15 });
    expect(tooLarge.text).toContain('arguments.fuel_budget: must be at most');
  });

  test('execute_code returns the same facts as text and as structured content', async () => {
    const { isError, text, structured, content } = await call(client, 'execute_code', {
      code: 'import sys\nopen("out/é b.txt", "w") if 0 else open("a b.txt", "w").write("x")\nprint("hello", file=sys.stderr)\nprint(input())\n6 * 7',
      language: 'python',
      stdin: 'from stdin',
    });
    expect(isError).toBe(false);
    expect(structured).toMatchObject({
      success: true,
      stdout: 'from stdin\n',
      stderr: 'hello\n',
      exit_code: 0,
      result: 42,
      session_id: 'default',
      state: 'fresh',
      files_changed: [{ path: 'a b.txt', change: 'created', uri: 'workspace://default/a%20b.txt' }],
    });
    for (const fact of ['Succeeded', 'from stdin', 'hello', '42', 'created "a b.txt"', 'default', 'fresh'])
      expect(text).toContain(fact);
    expect(content).toMatchObject([{ type: 'text' }]);
    const read = await client.readResource({ uri: 'workspace://default/a%20b.txt' });
    expect(read.contents).toMatchObject([{ text: 'x' }]);
  });

  test('a failing program is a normal result that names the line', async () => {
    const { isError, text, structured } = await call(client, 'execute_code', {
      code: 'x = 1\nx / 0',
      language: 'python',
    });
    expect(isError).toBe(false);
    expect(structured).toMatchObject({ success: false, exit_code: 1 });
    expect(text).toMatch(/^Failed: ZeroDivisionError: division by zero on line 2/);
  });

  test('a session keeps variables and can be inspected, saved, rolled back, forked and destroyed', async () => {
    const id = `work-${era}`;
    const created = await call(client, 'create_session', {
      language: 'python',
      session_id: id,
      fuel_budget: 2e9,
    });
    expect(created.structured).toMatchObject({ session_id: id, limits: { fuel_budget: 2e9 } });
    const run = (code: string, session_id = id) =>
      call(client, 'execute_code', { code, language: 'python', session_id });
    expect((await run('import json\nx = {1, 2}')).structured).toMatchObject({ state: 'committed' });

    const info = await call(client, 'get_workspace_info', { session_id: id });
    expect(info.structured).toMatchObject({ language: 'python', calls: 1, limits: { fuel_budget: 2e9 } });
    expect(info.structured['variables']).toContainEqual({ name: 'x', type: 'set', repr: '{1, 2}' });
    expect(info.text).toContain('x: set = {1, 2}');

    const checkpoint = await call(client, 'checkpoint_session', { session_id: id, name: 'two' });
    expect(checkpoint.structured).toMatchObject({ session_id: id, name: 'two' });
    await run('x.add(3)');
    const fork = await call(client, 'fork_session', { session_id: id, new_session_id: `${id}-fork` });
    expect(fork.structured).toMatchObject({ session_id: `${id}-fork`, forked_from: id });
    expect((await call(client, 'rollback_session', { session_id: id, name: 'two' })).isError).toBe(false);
    expect((await run('len(x)')).structured).toMatchObject({ result: 2 });
    expect((await run('len(x)', `${id}-fork`)).structured).toMatchObject({ result: 3 });
    await run('x.clear()');
    await call(client, 'rollback_session', { session_id: id });
    expect((await run('len(x)')).structured).toMatchObject({ result: 2 });

    const active = await call(client, 'get_active_sessions');
    const ids = (active.structured['sessions'] as { session_id: string }[]).map((one) => one.session_id);
    expect(ids).toEqual(expect.arrayContaining([id, `${id}-fork`]));
    expect(active.text).toContain(id);
    for (const one of ids) await call(client, 'destroy_session', { session_id: one });
    expect((await call(client, 'get_active_sessions')).structured).toMatchObject({ sessions: [] });
    const gone = await run('1');
    expect(gone).toMatchObject({ isError: true });
    expect(gone.text).toMatch(/^session_not_found: .*create_session/);
  });

  test('a rollback removes imports from the description of the session', { tags: 'full' }, async () => {
    const session_id = 'imports';
    await call(client, 'create_session', { language: 'python', session_id });
    const importsAfter = async (tool: string, args: object) => {
      await call(client, tool, { session_id, ...args });
      return (await call(client, 'get_workspace_info', { session_id })).structured['imports'];
    };
    const run = (code: string) => importsAfter('execute_code', { language: 'python', code });
    expect(await run('import yaml')).toEqual(['yaml']);
    await call(client, 'checkpoint_session', { session_id, name: 'one' });
    expect(await run('import jinja2')).toEqual(['jinja2', 'yaml']);
    expect(await importsAfter('rollback_session', {})).toEqual(['yaml']);
    await run('import bs4');
    expect(await importsAfter('rollback_session', { name: 'one' })).toEqual(['yaml']);
    await call(client, 'destroy_session', { session_id });
  });

  test('files can be written, listed and read, text as text and images as images', async () => {
    const png = { path: 'dot.png', content: PNG, encoding: 'base64' };
    expect((await call(client, 'write_file', png)).structured).toMatchObject({ size_bytes: 70 });
    await call(client, 'write_file', { path: '/app/data/n.csv', content: 'a,b\n1,2\n' });
    const sum = await call(client, 'execute_code', {
      code: 'sum(len(line) for line in open("data/n.csv"))',
      language: 'python',
    });
    expect(sum.structured).toMatchObject({ result: 8 });
    const seen = await call(client, 'execute_code', {
      code: 'std.loadFile("/app/data/n.csv").length',
      language: 'javascript',
    });
    expect(seen.structured).toMatchObject({ result: 8 });
    const listed = await call(client, 'list_files', { folder: '/app/data' });
    expect(listed.structured['files']).toMatchObject([{ path: 'data/n.csv', size_bytes: 8 }]);
    expect((await call(client, 'read_file', { path: 'data/n.csv', offset: 4 })).text).toBe('1,2\n');
    expect((await call(client, 'read_file', { path: 'dot.png' })).content[1]).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
      data: PNG,
    });
    const missing = await call(client, 'read_file', { path: 'nothing.txt' });
    expect(missing).toMatchObject({ isError: true });
    expect(missing.text).toMatch(/^file_not_found: .*dot\.png/);
    const outside = await call(client, 'write_file', { path: '../../etc/passwd', content: 'x' });
    expect(outside).toMatchObject({ isError: true });
    expect(outside.text).toMatch(/^invalid_path/);
    await call(client, 'reset_workspace');
    expect((await call(client, 'list_files')).structured).toMatchObject({ total: 0 });
  });

  // guarantee: request-limits
  // proves: Lists of files in results have a limited length, however long the paths are that a program has chosen.
  test('lists of files have a limited length, whatever their paths are', async () => {
    const code = `import os
folder = '/app' + ('/' + '\u00e9' * 120) * 14
os.makedirs(folder)
for i in range(300): open(f'{folder}/{i}', 'w').close()`;
    const made = await call(client, 'execute_code', { code, language: 'python' });
    const listed = await call(client, 'list_files');
    const info = await call(client, 'get_workspace_info');
    const missing = await call(client, 'read_file', { path: 'missing' });
    await call(client, 'reset_workspace');
    expect(made.structured).toMatchObject({ files_changed_total: 300 });
    expect(made.text).toMatch(/ and 29\d more$/m);
    expect(listed.structured).toMatchObject({ total: 300 });
    expect(listed.text).toMatch(/^… and 29\d more$/m);
    expect(info.structured).toMatchObject({ files_total: 300 });
    expect(info.text).toMatch(/^files: .* and 28\d more$/m);
    expect(missing.text).toMatch(/^file_not_found: .*…\.$/);
    for (const { text, structured } of [made, listed, info, missing]) {
      expect(text.length).toBeLessThan(22_000);
      expect(JSON.stringify(structured ?? {}).length).toBeLessThan(42_000);
    }
  });

  test('read_file returns base64 on request, in parts that can be joined, and the text of links in results', async () => {
    const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * 7) % 256));
    await call(client, 'write_file', {
      path: 'b.bin',
      content: bytes.toString('base64'),
      encoding: 'base64',
    });
    expect((await call(client, 'read_file', { path: 'b.bin' })).text).toContain('encoding="base64"');
    const read = async (offset = 0) =>
      (await call(client, 'read_file', { path: 'b.bin', encoding: 'base64', offset })).text;
    const [part, more] = (await read()).split('\n');
    const next = Number(/continue with offset=(\d+)/.exec(more!)![1]);
    expect(Buffer.from(part! + (await read(next)).split('\n')[0], 'base64').subarray(0, 2 * next)).toEqual(
      bytes.subarray(0, 2 * next),
    );
    const printed = await call(client, 'execute_code', { code: "print('x' * 100_000)", language: 'python' });
    const [uri] = printed.structured['output_uris'] as string[];
    expect((await call(client, 'read_file', { path: uri!, offset: 99_999 })).text).toBe('x\n');
    await call(client, 'reset_workspace');
  });

  test('create_session offers the files of the default workspace, and takes them along', async () => {
    await call(client, 'write_file', { path: 'in/rows.csv', content: '1,2' });
    const without = await call(client, 'create_session', { language: 'python', session_id: 'bare' });
    expect(without.text).toContain('To take them along, create the session with copy_files=true.');
    const args = { language: 'python', session_id: 'filled', copy_files: true };
    const { text } = await call(client, 'create_session', args);
    expect(text).toMatch(/It has \d+ files? of the default workspace\./);
    const code = "print(open('in/rows.csv').read())";
    const run = await call(client, 'execute_code', { code, language: 'python', session_id: 'filled' });
    expect(run.structured['stdout']).toBe('1,2\n');
    for (const session_id of ['bare', 'filled']) await call(client, 'destroy_session', { session_id });
    await call(client, 'reset_workspace');
  });

  // guarantee: session-recovery
  // proves: reset_workspace removes folders and links as well as files.
  test('reset_workspace removes folders and links as well as files', async () => {
    const run = (code: string, session_id: string) =>
      call(client, 'execute_code', { code, language: 'python', session_id });
    await call(client, 'create_session', { language: 'python', session_id: 'reset' });
    for (const session_id of ['default', 'reset']) {
      await run(
        "import os\nos.makedirs('empty/inner')\nopen('a.txt', 'w').close()\nos.symlink('a.txt', 'link')",
        session_id,
      );
      const { structured } = await call(client, 'reset_workspace', { session_id });
      expect(structured).toMatchObject({ files_deleted: 1 });
      const { structured: listing } = await run("import os\nos.listdir('/app')", session_id);
      expect(listing).toMatchObject({ result: [] });
    }
    await call(client, 'destroy_session', { session_id: 'reset' });
  });

  test('runtimes, packages and metrics are reported', async () => {
    const runtimes = await call(client, 'list_runtimes');
    expect(runtimes.structured['runtimes']).toMatchObject([
      { language: 'python' },
      { language: 'javascript' },
      { language: 'bash' },
    ]);
    expect(runtimes.text).toContain('[result, error]');
    expect(runtimes.text).toMatch(/^python: .* [1-9]\d* packages, including openpyxl, .*\.$/m);
    expect(runtimes.text).toMatch(/^bash: .* as processes\. No packages\.$/m);
    const packages = await call(client, 'list_available_packages', { language: 'python', query: 'excel' });
    const rows = packages.structured['packages'] as { name: string; fuel_first_import: number }[];
    expect(rows.map(({ name }) => name)).toContain('openpyxl');
    for (const row of rows) expect(row.fuel_first_import).toBeGreaterThan(0);
    expect(packages.text).toContain('import openpyxl');
    const forShells = await call(client, 'list_available_packages', { language: 'bash', query: 'excel' });
    expect(forShells.text).toContain('bash has no packages of its own');
    expect(forShells.text).toContain('import openpyxl');
    const metrics = await call(client, 'get_metrics');
    expect(metrics.structured['failed']).toBeGreaterThan(0);
    expect(metrics.structured['executions']).toBe(
      (metrics.structured['failed'] as number) + (metrics.structured['succeeded'] as number),
    );
  });

  test('progress increases and carries recent output', async () => {
    const reports: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
    let cancel: Promise<unknown> | undefined;
    const onprogress = (report: (typeof reports)[number]) => {
      reports.push(report);
      // The program runs until it has reported three times, so the test does not depend on the speed of the machine.
      if (reports.length === 3) cancel = call(client, 'cancel_execution');
    };
    const { structured } = await call(
      client,
      'execute_code',
      { code: 'print("step one", flush=True)\nwhile True: pass', language: 'python', fuel_budget: 100e9 },
      { onprogress },
    );
    await cancel;
    expect(structured).toMatchObject({ trap_reason: 'cancelled', success: false });
    const values = reports.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    expect(reports.every(({ total }) => total === 100)).toBe(true);
    expect(reports.map(({ message }) => message).join('\n')).toContain('step one');
  });

  test('cancelling a request stops the program, and the session remains usable', async () => {
    const { structured: created } = await call(client, 'create_session', { language: 'python' });
    const session_id = created['session_id'] as string;
    const endless = { code: 'while True: pass', language: 'python', session_id, fuel_budget: 100e9 };
    const abort = new AbortController();
    const running = client.callTool({ name: 'execute_code', arguments: endless }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 500);
    await expect(running).rejects.toThrow();
    // Calls of a session run one at a time, so this one starts only after the program has ended.
    const next = await call(client, 'execute_code', { ...endless, code: '1 + 1' });
    expect(next.structured).toMatchObject({ result: 2 });
    await call(client, 'destroy_session', { session_id });
  });

  test('cancel_execution stops a running program', async () => {
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9 };
    const running = call(client, 'execute_code', endless);
    let cancelled = 0;
    while (cancelled === 0) {
      await new Promise((next) => setTimeout(next, 50));
      cancelled = (await call(client, 'cancel_execution')).structured['cancelled'] as number;
    }
    expect(cancelled).toBe(1);
    const ended = await running;
    // The call was cancelled either while running or while queued.
    if (ended.isError) expect(ended.text).toMatch(/^cancelled/);
    else expect(ended.structured).toMatchObject({ success: false, trap_reason: 'cancelled' });
  });

  test('the result of a cancelled call states correctly whether its changes were kept', async () => {
    const session_id = (await call(client, 'create_session', { language: 'python' })).structured[
      'session_id'
    ] as string;
    const run = (code: string, options?: { onprogress: () => void }) =>
      call(client, 'execute_code', { code, language: 'python', session_id, fuel_budget: 100e9 }, options);
    for (const endless of ['while True: pass', 'sum(range(10**13))']) {
      await run('x = 1');
      // Progress is reported while a program runs.
      let cancel: Promise<unknown> | undefined;
      const onprogress = () => {
        cancel ??= call(client, 'cancel_execution', { session_id });
      };
      const code = `x = 2\nopen('begun', 'w').close()\n${endless}`;
      const { structured, text } = await run(code, { onprogress });
      await cancel;
      expect(structured).toMatchObject({ trap_reason: 'cancelled' });
      const isKept = structured['state'] === 'committed';
      expect(text).toContain(isKept ? 'kept for the next call' : 'as they were before this call');
      expect((await run('x')).structured).toMatchObject({ result: isKept ? 2 : 1 });
      const { total } = (await call(client, 'list_files', { session_id })).structured;
      expect(total).toBe(isKept ? 1 : 0);
      await call(client, 'reset_workspace', { session_id });
    }
    await call(client, 'destroy_session', { session_id });
  });

  test('destroy_session stops running code, whose call gets an error that names tools', async () => {
    const session_id = 'doomed';
    await call(client, 'create_session', { language: 'javascript', session_id });
    const endless = { code: 'for (;;) {}', language: 'javascript', session_id, fuel_budget: 100e9 };
    const running = call(client, 'execute_code', endless);
    await new Promise((next) => setTimeout(next, 500));
    await call(client, 'destroy_session', { session_id });
    const { isError, text, structured } = await running;
    if (isError) expect(text).toMatch(/^(sandbox_closed: .*create_session|session_not_found|cancelled)/);
    else expect(structured).toMatchObject({ trap_reason: 'cancelled' });
    expect(text).not.toContain('createSandbox');
  });

  test('prompts are listed and filled in', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['analyse_csv', 'convert_document', 'debug_error']);
    const { messages } = await client.getPrompt({ name: 'analyse_csv', arguments: { file: 'sales.csv' } });
    expect(messages[0]?.content).toMatchObject({ type: 'text', text: expect.stringContaining('sales.csv') });
  });

  test('resources are listed, completed and read; a missing one is a protocol error', async () => {
    await call(client, 'write_file', { path: 'r/one.txt', content: 'one' });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('workspace://default/r/one.txt');
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'workspace://{session}/{+path}' },
      argument: { name: 'path', value: 'r/' },
      context: { arguments: { session: 'default' } },
    });
    expect(completion.values).toEqual(['r/one.txt']);
    await expect(client.readResource({ uri: 'workspace://default/none' })).rejects.toThrow(/no file/);
    await expect(client.readResource({ uri: 'workspace://other/r/one.txt' })).rejects.toThrow(/no session/);
  });

  test('every link in guidance is a resource and a file that read_file reads', async () => {
    const links = new Set(
      Object.values(LANGUAGES).flatMap((language) =>
        language.rules.flatMap((rule) => relatedDocs(rule, language)),
      ),
    );
    const { resources } = await client.listResources();
    const listed = resources.map(({ uri }) => uri).filter((uri) => uri.startsWith('docs://'));
    expect(listed).toHaveLength(links.size);
    for (const link of links) {
      const [, document, anchor] = /^docs\/(\w+)\.md#([\w-]+)$/.exec(link)!;
      const uri = `docs://${document}/${anchor}`;
      expect(listed).toContain(uri);
      const { contents } = await client.readResource({ uri });
      const { text } = contents[0] as { text: string };
      const [heading, ...lines] = text.split('\n');
      expect(heading).toMatch(/^#+ \w/);
      expect(lines.join('').trim()).not.toBe('');
      // One section, not the whole document.
      const level = /^#+/.exec(heading!)![0].length;
      expect(
        text.replaceAll(/^```[\s\S]*?^```/gm, '').match(new RegExp(`^#{1,${level}} `, 'gm')),
      ).toHaveLength(1);
      expect((await call(client, 'read_file', { path: uri })).text).toBe(text);
    }
    for (const uri of ['docs://SECURITY/x', 'docs://../package.json', 'docs://API', 'docs://README/limits'])
      await expect(client.readResource({ uri })).rejects.toThrow(/no such section|not found/i);
    expect((await call(client, 'read_file', { path: 'docs://API/none' })).isError).toBe(true);
  });

  test('a result refers to the documentation by URI and confirms the files of the call', async () => {
    const { text, structured } = await call(client, 'execute_code', {
      code: "open('/data/in.txt')",
      language: 'python',
      files: { 'in.txt': 'x', '/app/sub/b.txt': 'y' },
    });
    expect(structured['files_passed']).toEqual(['/app/in.txt', '/app/sub/b.txt']);
    expect(text).toContain('files passed: /app/in.txt, /app/sub/b.txt');
    const uri = 'docs://MCP_INTEGRATION/security-considerations';
    expect(structured['error_guidance']).toMatchObject({ related_docs: [uri] });
    expect(text).toContain(`See: ${uri}`);
    const plain = await call(client, 'execute_code', { code: '1', language: 'python' });
    expect(plain.structured).not.toHaveProperty('files_passed');
  });

  test('a missing package is listed once, and no list is cut off', async () => {
    const { text } = await call(client, 'execute_code', {
      code: "import pad from 'left-pad';",
      language: 'javascript',
    });
    expect(text.match(/papaparse/g)).toHaveLength(1);
    expect(text).not.toContain('…');
  });

  test('a file with any name can be read at the URI in a result', async () => {
    const session_id = 'Case_Kept-1';
    await call(client, 'create_session', { language: 'javascript', session_id });
    for (const path of [
      '100%.txt',
      'a%20b.txt',
      'q?x#y.txt',
      'ünï/cødé 😀.txt',
      'x.constructor',
      '{+path}.txt',
      "it's (1).txt",
    ]) {
      const written = await call(client, 'write_file', { path, content: path, session_id });
      const { contents } = await client.readResource({ uri: written.structured['uri'] as string });
      expect(contents).toMatchObject([{ text: path }]);
    }
    await call(client, 'destroy_session', { session_id });
  });

  test('long output is truncated, and a resource has the full text', async () => {
    const { structured, text, content } = await call(client, 'execute_code', {
      code: 'for i in range(10_000): print("line", i)',
      language: 'python',
    });
    const [uri] = structured['output_uris'] as string[];
    expect((structured['stdout'] as string).length).toBeLessThan(21_000);
    for (const part of ['line 0\n', 'line 9999', uri!]) {
      expect(text).toContain(part);
      expect(structured['stdout']).toContain(part);
    }
    expect(content).toMatchObject([{ type: 'text' }]);
    const { contents } = await client.readResource({ uri: uri! });
    expect((contents[0] as { text: string }).text.split('\n').length).toBe(10_001);
  });

  test('lone surrogates are replaced, whether printed or created by truncation', async () => {
    const { structured, text } = await call(client, 'execute_code', {
      code: `print('😀' * 25_000)\nprint('a' + '😀' * 25_000)\nopen('x.constructor', 'w').close()\n{'\\ud800': '\\udfff'}`,
      language: 'python',
    });
    expect(structured).toMatchObject({ success: true, result: { '\ufffd': '\ufffd' } });
    const surrogates = [text, structured['stdout'] as string].map((shown) => /\p{Surrogate}/u.exec(shown));
    expect(surrogates).toEqual([null, null]);
  });

  test('reset_all_sessions destroys all sessions and empties the default workspace', async () => {
    await call(client, 'create_session', { language: 'javascript', session_id: 'one' });
    const { structured } = await call(client, 'reset_all_sessions');
    expect(structured).toMatchObject({ sessions: ['one'], deleted: true });
    expect((await call(client, 'get_active_sessions')).structured).toMatchObject({ sessions: [] });
    expect((await call(client, 'list_files')).structured).toMatchObject({ total: 0 });
  });
}
