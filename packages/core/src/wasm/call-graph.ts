/**
 * Decodes every function body once and records the cost, shape and callees of each function.
 * Invariant: once the call graph is built, every index used in a body is known to exist in the original module.
 */
import { invalid, Reader } from './binary-io.ts';
import { decode, type Instruction, newInstruction } from './decode-instruction.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import { COST, IS_BULK, LAST_CONTROL, opcodesNamed } from './opcodes.ts';
import type { ParsedModule } from './parse-module.ts';

/** Arrays are indexed by function. The entries of imported functions are zero or empty. */
export interface CallGraph {
  /** Sum of the fixed costs of all instructions in the body. */
  readonly cost: Float64Array;
  /** 1 if the body has no branches, loops or bulk instructions. It may contain direct calls. */
  readonly isStraightLine: Uint8Array;
  /** 1 if the body calls through a table. */
  readonly callsIndirectly: Uint8Array;
  /** 1 if the body sets the stack pointer. */
  readonly movesStackPointer: Uint8Array;
  /** Direct callees, one for each call instruction. */
  readonly callees: readonly (readonly number[])[];
  /** Whether any body uses memory.init or data.drop. */
  readonly usesData: boolean;
  /** Name of an instruction that changes a table or drops an element segment; undefined if there is none. */
  readonly tableWrite: string | undefined;
  /** Whether any body uses memory.grow. */
  readonly growsMemory: boolean;
}

const OP = opcodesNamed(
  'nop block end call call_indirect return_call return_call_indirect drop select select_t global.set',
  'ref.func memory.init memory.grow data.drop',
);
const TABLE_WRITES = [
  'table.set',
  'table.init',
  'table.copy',
  'table.grow',
  'table.fill',
  'elem.drop',
] as const;
const TABLE_WRITE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(opcodesNamed(...TABLE_WRITES)).map(([name, opcode]) => [opcode, name]),
);
const IS_TABLE_WRITE = Uint8Array.from(COST, (_, opcode) => (TABLE_WRITE_NAMES.has(opcode) ? 1 : 0));
const STRAIGHT_LINE_CONTROL = new Set([OP.nop, OP.block, OP.end, OP.call, OP.drop, OP.select, OP.select_t]);
const NO_CALLEES: readonly number[] = [];

/** `stackPointer` is the index of the global that points to the stack in linear memory, if there is one. */
export function buildCallGraph(module: ParsedModule, stackPointer?: number): CallGraph {
  const count = module.space.functions;
  const callees: (readonly number[])[] = new Array(count).fill(NO_CALLEES);
  const graph: { -readonly [field in keyof CallGraph]: CallGraph[field] } = {
    cost: new Float64Array(count),
    isStraightLine: new Uint8Array(count),
    callsIndirectly: new Uint8Array(count),
    movesStackPointer: new Uint8Array(count),
    callees,
    usesData: false,
    tableWrite: undefined,
    growsMemory: false,
  };
  const ins = newInstruction();
  for (const [i, range] of module.bodies.entries()) {
    const index = i + module.importedFunctions;
    const reader = new Reader(module.bytes, range.start, range.end);
    const { params } = module.types[module.functionTypes[index]!]!;
    module.space.locals = params + skipLocalDeclarations(reader).count;
    const calls: number[] = [];
    graph.isStraightLine[index] = 1;
    while (!reader.done) {
      decode(reader, module.space, ins);
      const { opcode } = ins;
      graph.cost[index]! += COST[opcode]!;
      if (opcode <= LAST_CONTROL) recordControl(graph, index, ins, calls);
      else if (IS_BULK[opcode]) graph.isStraightLine[index] = 0;
      else if (opcode === OP['ref.func']) checkDeclared(module, ins.index, range.start);
      else if (opcode === OP['global.set'] && ins.index === stackPointer) graph.movesStackPointer[index] = 1;
      if (opcode === OP['memory.init'] || opcode === OP['data.drop']) graph.usesData = true;
      if (opcode === OP['memory.grow']) graph.growsMemory = true;
      if (IS_TABLE_WRITE[opcode]) graph.tableWrite ??= TABLE_WRITE_NAMES.get(opcode);
    }
    if (calls.length > 0) callees[index] = calls;
  }
  return graph;
}

function recordControl(
  graph: { isStraightLine: Uint8Array; callsIndirectly: Uint8Array },
  index: number,
  ins: Instruction,
  calls: number[],
): void {
  const { opcode } = ins;
  if (!STRAIGHT_LINE_CONTROL.has(opcode)) graph.isStraightLine[index] = 0;
  if (opcode === OP.call || opcode === OP.return_call) calls.push(ins.index);
  else if (opcode === OP.call_indirect || opcode === OP.return_call_indirect)
    graph.callsIndirectly[index] = 1;
}

/** An export also declares a function for ref.func, but the export may be dropped, so exports do not count here. */
function checkDeclared(module: ParsedModule, index: number, at: number): void {
  if (!module.addressTaken.has(index)) {
    throw invalid('ref.func refers to a function that no element segment or global declares', at);
  }
}

/** A constant-cost function runs without a fuel check, so its cost must be small. */
const MAX_CONSTANT_COST = 1000;
/** Call chains longer than this are metered as usual. */
const MAX_CALL_DEPTH = 16;

const UNKNOWN = -2;
const METERED = -1;

/**
 * The fuel of each constant-cost function, -1 for all others. They are straight-line code that calls only such functions, and carry
 * no fuel code: the caller charges their cost together with the call instruction.
 * Invariant: a constant-cost function is reached by direct calls only, so every call is charged. `reachable` are the functions that the host or a table can
 * call; they are always metered.
 */
export function findConstantCostFunctions(
  graph: CallGraph,
  imported: number,
  reachable: ReadonlySet<number>,
): Int32Array {
  const fuel = new Int32Array(graph.cost.length);
  for (let index = 0; index < fuel.length; index++) {
    fuel[index] = index >= imported && graph.isStraightLine[index] ? UNKNOWN : METERED;
  }
  for (const index of reachable) fuel[index] = METERED;
  const visit = (index: number, depth: number): number => {
    if (fuel[index] !== UNKNOWN) return fuel[index]!;
    // If a cycle leads back here, this value stays: a recursive function has no constant cost.
    fuel[index] = METERED;
    if (depth > MAX_CALL_DEPTH) return METERED;
    let total = graph.cost[index]!;
    for (const callee of graph.callees[index]!) {
      const cost = visit(callee, depth + 1);
      if (cost < 0) return METERED;
      total += cost;
    }
    if (total <= MAX_CONSTANT_COST) fuel[index] = total;
    return fuel[index]!;
  };
  for (let index = imported; index < fuel.length; index++) visit(index, 0);
  return fuel;
}
