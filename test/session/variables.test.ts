/** The list of variables of a session, whatever its programs contain. */
import { openSessions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

async function variablesAfter(...programs: readonly string[]) {
  await using sessions = openSessions();
  const session = await sessions.create({ runtime: 'javascript', session_id: 'listed' });
  for (const code of programs) await session.execute(code);
  return Object.fromEntries((await session.variables()).map(({ name, repr }) => [name, repr]));
}

/** Processor time of this process, which other processes do not affect. */
function cpuSecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

describe('variables of a JavaScript session', () => {
  test('are the top-level declarations of its programs', async () => {
    const code = `let a = 1; const b = 2
class C {}
export function f() {}
async function* g() {}
function h() { let inner = 3 }
if (true) { let hidden = 4 }
var v = 5; globalThis.w = 6`;
    const found = await variablesAfter(code);
    expect(Object.keys(found).sort()).toEqual(['C', 'a', 'b', 'f', 'g', 'h', 'v', 'w']);
    expect(found).toMatchObject({ a: '1', b: '2', v: '5', w: '6' });
  });

  // guarantee: untrusted-reports
  test.each([
    ['a comment', '/*\nlet if\nlet 1a\nclass extends\n*/ let kept = 1'],
    ['a template', '`\nlet if\nconst new\n`; let kept = 1'],
    ['a string with a line continuation', "'\\\nlet if'; let kept = 1"],
  ])('are not hidden by text that looks like a declaration: %s', async (_, code) => {
    expect(await variablesAfter(code)).toEqual({ kept: '1' });
  });

  test('are not hidden by a program that does not compile', async () => {
    expect(await variablesAfter('let kept = 1', 'let if = 2')).toEqual({ kept: '1' });
  });

  test('do not keep a session from closing', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ runtime: 'javascript', session_id: 'closing' });
    await session.flush();
    const variables = session.variables().catch((cause) => cause);
    await session.close();
    expect(await variables).toMatchObject({ code: 'sandbox_closed' });
  });

  // guarantee: linear-parsing
  test.each([
    ['newlines', '\n'.repeat(120_000)],
    ['functions', 'function '.repeat(15_000)],
    ['spaces after a function', `export default function${' '.repeat(200_000)}(){}`],
  ])('are read without blocking the main thread: %s', async (_, code) => {
    await using sessions = openSessions();
    const session = await sessions.create({ runtime: 'javascript', session_id: 'stalled' });
    await session.execute('1');
    const before = process.cpuUsage();
    await session.execute(code);
    await session.variables();
    // Quadratic work takes half a minute.
    expect(cpuSecondsSince(before)).toBeLessThan(15);
  });
});

// guarantee: time-limit
test('reading variables takes at most the time limit of the session', async () => {
  await using sessions = openSessions();
  const policy = { timeout_seconds: 0.2 };
  const session = await sessions.create({ runtime: 'python', session_id: 'slow', policy });
  await session.execute('class Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow()', {
    timeout_seconds: 100,
  });
  const before = process.cpuUsage();
  await session.variables();
  // Without the limit of the session, it takes ten seconds.
  expect(cpuSecondsSince(before)).toBeLessThan(9);
});
