/** Requests for processes, network, threads and devices through both standard libraries. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript, tryPython } from './attack.ts';

describe('host resource', () => {
  // guarantee: no-host-resources
  test('is denied to Python with an exception', async () => {
    const load = (name: string) => `__import__('${name}')`;
    const refused = [
      'os.fork()',
      "os.execv('/bin/sh', ['sh'])",
      'os.kill(1, 9)',
      "os.mkfifo('p')",
      "os.mknod('n')",
      "os.posix_spawn('/bin/sh', ['sh'], {})",
      `${load('subprocess')}.run(['id'])`,
      `${load('socket')}.socket()`,
      `${load('socket')}.create_connection(('127.0.0.1', 80), 1)`,
      `${load('socket')}.gethostbyname('localhost')`,
      `${load('threading')}.Thread(target=print).start()`,
      `${load('multiprocessing')}.Process(target=print).start()`,
      `${load('urllib.request')}.request.urlopen('http://127.0.0.1/')`,
      `${load('http.client')}.client.HTTPConnection('127.0.0.1').connect()`,
      `${load('pty')}.spawn('sh')`,
      `${load('signal')}.setitimer(0, 0.01)`,
    ];
    const seen = await tryPython(refused);
    for (const [call, outcome] of Object.entries(seen))
      expect(outcome, call).toMatch(/^([A-Z]\w*Error|error|gaierror|URLError)$/);
    expect(Object.keys(seen)).toHaveLength(refused.length);
    expect(await tryPython(["os.system('id')"])).toEqual({ "os.system('id')": '-1' });
  });

  test.each([
    ['os._exit(3)', 3, null],
    ['os.abort()', 134, 'unreachable'],
    ['os.kill(os.getpid(), 9)', 137, null],
    ['import faulthandler; faulthandler._sigsegv()', 134, 'unreachable'],
    ['import signal; signal.raise_signal(11)', 139, null],
  ])('is not affected when Python terminates its own process: %s', async (call, exitCode, reason) => {
    const result = await attack('python', `import os\n${call}`);
    expect([exitCode, 134, 139]).toContain(result.exit_code);
    if (reason !== null) expect(result.metadata.trap_reason).toBe(reason);
  });

  // guarantee: no-host-resources
  test('is denied to JavaScript with an error', async () => {
    const refused = [
      "std.popen('id', 'r')",
      "std.urlGet('http://127.0.0.1/')",
      "os.exec(['id'])",
      'os.kill(1, 9)',
      'os.waitpid(1, 0)',
      'os.signal(60, () => {})',
      'os.ttySetRaw(0)',
      "new os.Worker('./x.js')",
      "std.loadScript('/etc/passwd')",
    ];
    const seen = await tryJavaScript(refused);
    for (const [call, outcome] of Object.entries(seen)) expect(outcome, call).toMatch(/Error$/);
    expect(Object.keys(seen)).toHaveLength(refused.length);
  });

  test('is not reachable through invalid arguments of os and std', async () => {
    const calls = [
      ...[
        "os.remove('/')",
        "os.rename('/lib', '/x')",
        "os.utimes('/lib', 1, 1)",
        'os.chdir(undefined)',
        'os.sleep(-1)',
        'os.sleep(NaN)',
      ],
      ...[
        "std.sprintf('%1000000000d', 1).length < 100000",
        "std.sprintf('%n%s%s')",
        'std.strerror(1e9)',
        'std.getenv({})',
      ],
      ...[
        "std.setenv('__proto__', 'x')",
        'std.evalScript()',
        "std.open('x', 'no such mode')",
        "std.parseExtJSON('[')",
        'os.readdir(1)',
      ],
    ];
    const seen = await tryJavaScript(calls);
    expect(Object.keys(seen)).toEqual(calls);
  });

  test.each([
    "import * as std from 'std'; std.exit(7)",
    "import * as std from 'std'; (async () => { await null; std.exit(7); })()",
  ])('is not affected when JavaScript exits: %s', async (code) => {
    expect(await attack('javascript', code)).toMatchObject({ exit_code: 7 });
  });
});
