/**
 * Calls the tools of the caller with two ioctl requests. `SEND` passes a message and returns the size of the reply;
 * `TAKE` copies the reply. A buffer starts with the length of its contents, in 32 bits. The first line of a message is
 * its kind.
 */
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { MAX_TOOL_MESSAGE_BYTES, type ToolChannel } from '../../../kernel/tool-channel.ts';
import { TOOL_IOCTL } from './abi.ts';

const LENGTH_BYTES = 4;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NO_REPLY = new Uint8Array();

/** Splits a text at its first `count` line ends. */
function split(text: string, count: number): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let i = 0; i < count; i++) {
    const end = text.indexOf('\n', start);
    if (end < 0) throw syscallError('EINVAL');
    parts.push(text.slice(start, end));
    start = end + 1;
  }
  return [...parts, text.slice(start)];
}

/** Names are JSON strings, which contain no line end. */
function unquote(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
  } catch {
    // Reported below.
  }
  throw syscallError('EINVAL');
}

const KINDS: Readonly<Record<string, (tools: ToolChannel, rest: string) => string>> = {
  call(tools, rest) {
    const [id, name, args] = split(rest, 2);
    tools.call(Number(id), unquote(name!), args!);
    return '';
  },
  wait: (tools, rest) => tools.wait(rest === '' ? Number.POSITIVE_INFINITY : Number(rest)),
  withdraw(tools, rest) {
    const [id, reason] = split(rest, 1);
    tools.withdraw(Number(id), reason!);
    return '';
  },
  search(tools, rest) {
    const [limit, query] = split(rest, 1);
    return tools.search(unquote(query!), Number(limit));
  },
  describe: (tools, rest) => tools.describe(unquote(rest)),
};

/** The returned function handles both requests. It returns undefined for other requests, or if the program has no tools. */
export function toolExchange(kernel: Kernel, memory: GuestMemory) {
  let reply = NO_REPLY;
  /** The run that the reply belongs to. The instance may have run another program since. */
  let owner: ToolChannel | undefined;
  return (request: number, varargs: number): number | undefined => {
    const { tools } = kernel.call;
    if (tools === undefined || (request !== TOOL_IOCTL.SEND && request !== TOOL_IOCTL.TAKE)) return undefined;
    if (owner !== tools) reply = NO_REPLY;
    owner = tools;
    const buffer = memory.u32(varargs);
    const length = memory.u32(buffer);
    if (request === TOOL_IOCTL.TAKE) {
      if (length < reply.length) throw syscallError('EINVAL');
      memory.bytes(buffer + LENGTH_BYTES, reply.length).set(reply);
      reply = NO_REPLY;
      return 0;
    }
    if (length > MAX_TOOL_MESSAGE_BYTES) throw syscallError('EINVAL');
    let text: string;
    try {
      text = decoder.decode(memory.bytes(buffer + LENGTH_BYTES, length));
    } catch (cause) {
      if (cause instanceof TypeError) throw syscallError('EILSEQ');
      throw cause;
    }
    const [kind, rest] = split(text, 1);
    if (!Object.hasOwn(KINDS, kind!)) throw syscallError('EINVAL');
    reply = encoder.encode(KINDS[kind!]!(tools, rest!));
    return reply.length;
  };
}
