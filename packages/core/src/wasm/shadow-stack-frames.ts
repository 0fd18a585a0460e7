/**
 * Selects the functions to which the rewriter adds a frame on the stack in linear memory, because the compiler gave them none.
 * The check of the stack pointer then limits every recursion, at the same depth on every machine and in every tier of the engine.
 * Invariant: every cycle in the call graph contains a function that moves the stack pointer.
 */
import type { Writer } from './binary-io.ts';
import type { CallGraph } from './call-graph.ts';
import { opcodesNamed } from './opcodes.ts';

const OP = opcodesNamed('global.get i32.sub');

export interface StackBound {
  /** Index of the global that holds the stack pointer. */
  readonly pointer: number;
  /** Index of the global that holds the address below which the stack has overflowed. */
  readonly limit: number;
}

/** Pushes the distance of the stack pointer from its limit, which is negative after an overflow. */
export function writeFreeStack(to: Writer, { pointer, limit }: StackBound): void {
  to.u8(OP['global.get']).u32(pointer).u8(OP['global.get']).u32(limit).u8(OP['i32.sub']);
}

/** Bytes of an added frame, the smallest that keeps the stack aligned. */
export const FRAME_BYTES = 16;

const NEW = 0;
const OPEN = 1;
const DONE = 2;

/**
 * 1 for each function that needs a frame. `reachable` are the functions that the host or a table can call. The bodies of the
 * `replaced` functions are calls to the host, which can call back.
 */
export function findAddedFrames(
  graph: CallGraph,
  imported: number,
  reachable: Iterable<number>,
  replaced: { has(index: number): boolean },
): Uint8Array {
  const count = graph.cost.length;
  const frames = new Uint8Array(count);
  const state = new Uint8Array(count);
  const isFrameless = (index: number) =>
    index >= imported && !graph.movesStackPointer[index] && !replaced.has(index);
  const leaves = (callee: number) => callee < imported || replaced.has(callee);
  /** Depth-first search among the functions without a frame. A cycle gets a frame where it is entered. */
  const search = (root: number) => {
    if (!isFrameless(root) || state[root] !== NEW) return;
    const path = [root];
    const next = [0];
    state[root] = OPEN;
    while (path.length > 0) {
      const index = path.at(-1)!;
      const callee = graph.callees[index]![next[next.length - 1]!++];
      if (callee === undefined) {
        state[index] = DONE;
        path.pop();
        next.pop();
      } else if (!isFrameless(callee)) continue;
      else if (state[callee] === OPEN) frames[callee] = 1;
      else if (state[callee] === NEW) {
        state[callee] = OPEN;
        path.push(callee);
        next.push(0);
      }
    }
  };
  for (const index of reachable) search(index);
  // The functions reached so far can be called through a table, so a call through a table can lead back to them.
  for (let index = imported; index < count; index++) {
    if (state[index] === DONE && (graph.callsIndirectly[index] || graph.callees[index]!.some(leaves)))
      frames[index] = 1;
  }
  for (let index = imported; index < count; index++) search(index);
  return frames;
}
