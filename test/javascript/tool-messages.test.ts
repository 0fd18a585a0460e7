/** The sizes of the texts that a JavaScript guest passes to tools. */
import { describe, expect, test } from 'vitest';
import { NO_CALL } from '../../packages/core/src/kernel/call-environment.ts';
import { GuestMemory } from '../../packages/core/src/kernel/guest-memory.ts';
import { MAX_TOOL_MESSAGE_BYTES, type ToolChannel } from '../../packages/core/src/kernel/tool-channel.ts';
import { GuestBytes } from '../../packages/core/src/runtimes/javascript/syscalls/call-arguments.ts';
import type { QuickJsGuest } from '../../packages/core/src/runtimes/javascript/syscalls/quickjs-guest.ts';
import { systemCalls } from '../../packages/core/src/runtimes/javascript/syscalls/system-calls.ts';
import { testKernel } from '../kernel/test-kernel.ts';

describe('texts that a JavaScript guest passes to tools', () => {
  const { kernel } = testKernel();
  const received: number[] = [];
  const tools: ToolChannel = {
    names: '[]',
    isPaused: false,
    hasNetwork: false,
    call: (_, name, args) => void received.push(name.length + args.length),
    wait: () => '',
    withdraw: () => {},
    search: () => '[]',
    describe: () => 'null',
  };
  kernel.beginCall({ ...NO_CALL, tools });
  const guest = { kernel } as unknown as QuickJsGuest;
  const memory = new GuestMemory(new WebAssembly.Memory({ initial: MAX_TOOL_MESSAGE_BYTES / 65_536 + 1 }));
  const short = new GuestBytes(memory, 0, 3, true);
  const long = new GuestBytes(memory, 0, MAX_TOOL_MESSAGE_BYTES + 1, true);

  test('are accepted up to the limit', () => {
    const longest = new GuestBytes(memory, 0, MAX_TOOL_MESSAGE_BYTES, true);
    systemCalls['toolCall']!(guest, [1, short, longest], []);
    expect(received).toEqual([MAX_TOOL_MESSAGE_BYTES + 3]);
  });

  test.each<[string, (number | GuestBytes)[]]>([
    ['toolCall', [2, long, short]],
    ['toolCall', [2, short, long]],
    ['toolSearch', [long, 5]],
    ['toolDescribe', [long]],
  ])('are rejected beyond it: %s', (name, args) => {
    received.length = 0;
    expect(() => systemCalls[name]!(guest, args, [])).toThrow(expect.objectContaining({ code: 'EINVAL' }));
    expect(received).toEqual([]);
  });
});
