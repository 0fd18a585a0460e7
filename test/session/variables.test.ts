/** The list of variables of a session, whatever its programs contain. */
import { openSessions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { inspectionCall } from '../../packages/core/src/session/inspect-variables.ts';

async function variablesAfter(...programs: readonly string[]) {
  await using sessions = openSessions();
  const session = await sessions.create({ runtime: 'javascript', session_id: 'listed' });
  for (const code of programs) await session.execute(code);
  return Object.fromEntries((await session.variables()).map(({ name, repr }) => [name, repr]));
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
  ])('are read although a program has many: %s', async (_, code) => {
    await using sessions = openSessions();
    const session = await sessions.create({ runtime: 'javascript', session_id: 'stalled' });
    await session.execute('let kept = 1');
    await session.execute(code);
    expect(await session.variables()).toContainEqual(expect.objectContaining({ name: 'kept', repr: '1' }));
  });
});

// guarantee: time-limit
test('reading variables takes at most the time limit of the session', () => {
  const limitsOf = (timeout_seconds: number) =>
    inspectionCall(
      'python',
      '',
      { env: {}, fuel_budget: 1000, timeout_seconds },
      new AbortController().signal,
    ).limits;
  expect(limitsOf(0.2)).toEqual({ fuel_budget: 1000, timeout_seconds: 0.2 });
  expect(limitsOf(1000)).toEqual({ fuel_budget: 1000, timeout_seconds: 10 });
});
