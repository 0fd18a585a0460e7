/** Metered code as text in golden/, for review. `vitest -u` updates the files. */
import { describe, expect, it } from 'vitest';
import { build, type Code, type ModuleSource } from './assembler.ts';
import { print } from './print-bodies.ts';
import { prepareModule } from './run-module.ts';

const ADD: readonly Code[] = [['local.get', 0], ['i32.const', 1], ['i32.add'], ['local.set', 0]];

/** A module with one exported function (i32) -> i32 that runs `code` and returns its parameter. */
function golden(code: readonly Code[], others: ModuleSource['functions'] = []): ModuleSource {
  return {
    types: [
      [['i32'], ['i32']],
      [['i32'], []],
    ],
    functions: [{ type: 0, code: [...code, ['local.get', 0]], export: 'run' }, ...others],
    tables: [1],
    elements: [0],
    memoryPages: 1,
    tags: [1],
  };
}

const CASES: Readonly<Record<string, ModuleSource>> = {
  'straight-line': golden(ADD),
  'if-else': golden([
    ['local.get', 0],
    { op: 'if', yes: ADD, no: [...ADD, ...ADD] },
    ['local.get', 0],
    { op: 'if', yes: ADD },
    ...ADD,
  ]),
  loop: golden([{ op: 'loop', type: 'void', body: [...ADD, ['local.get', 0], ['br_if', 0]] }]),
  'br-table': golden([
    {
      op: 'block',
      type: 'void',
      body: [
        { op: 'block', type: 'void', body: [['local.get', 0], { op: 'br_table', targets: [0, 1] }] },
        ...ADD,
        ['br', 0],
      ],
    },
    ...ADD,
  ]),
  call: golden([...ADD, ['local.get', 0], ['i32.const', 0], ['call_indirect', 0, 0], ['drop'], ...ADD]),
  bulk: golden([['i32.const', 0], ['i32.const', 0], ['local.get', 0], ['memory.fill', 0], ...ADD]),
  'try-catch': golden([
    {
      op: 'try',
      body: [
        ['local.get', 0],
        ['i32.const', 0],
        ['call_indirect', 0, 0],
        ['throw', 0],
      ],
      catch: [['local.set', 0], ...ADD],
      catchAll: [['rethrow', 0]],
    },
    ...ADD,
  ]),
  'constant-cost-call': golden(
    [['local.get', 0], ['call', 1], ['local.set', 0], ...ADD],
    [{ type: 0, code: [['local.get', 0], ['local.get', 0], ['i32.add']] }],
  ),
};

describe('metered code', () => {
  it.each(Object.entries(CASES))('matches golden/%s.txt', async (name, source) => {
    const prepared = prepareModule(build(source), { exports: ['run'] });
    expect(WebAssembly.validate(prepared.bytes as BufferSource)).toBe(true);
    await expect(print(prepared.bytes)).toMatchFileSnapshot(`golden/${name}.txt`);
  });
});
