/**
 * Reads every body once and notes what the decisions about whole functions need: cost, shape and callees.
 * Invariant: after the survey, every index in every body is known to exist in the module as it came.
 */
import { invalid, Reader } from './binary-io.ts';
import { decode, type Instruction, newInstruction } from './decode-instruction.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import { COST, IS_BULK, slotNamed } from './opcodes.ts';
import type { ParsedModule } from './parse-module.ts';

/** Facts by function index; imported functions have none. */
export interface CallGraph {
  /** Fuel of all instructions of the body, each taken once; bulk instructions without their length. */
  readonly cost: Float64Array;
  /** 1 if the body is straight-line code, apart from the functions it calls. */
  readonly isStraightLine: Uint8Array;
  /** 1 if the body calls through a table. */
  readonly callsIndirectly: Uint8Array;
  /** Direct callees, one for each call instruction. */
  readonly callees: readonly (readonly number[])[];
  /** Whether any body uses memory.init or data.drop. */
  readonly usesData: boolean;
}

const NONE: readonly number[] = [];
const LAST_CONTROL = 0x1f;
const NOP = slotNamed('nop');
const BLOCK = slotNamed('block');
const END = slotNamed('end');
const CALL = slotNamed('call');
const CALL_INDIRECT = slotNamed('call_indirect');
const RETURN_CALL = slotNamed('return_call');
const RETURN_CALL_INDIRECT = slotNamed('return_call_indirect');
const DROP = slotNamed('drop');
const SELECT = slotNamed('select');
const SELECT_T = slotNamed('select_t');
const REF_FUNC = slotNamed('ref.func');
const MEMORY_INIT = slotNamed('memory.init');
const DATA_DROP = slotNamed('data.drop');
const STRAIGHT_CONTROL = new Set([NOP, BLOCK, END, CALL, DROP, SELECT, SELECT_T]);

export function buildCallGraph(module: ParsedModule): CallGraph {
  const count = module.space.functions;
  const callees: (readonly number[])[] = new Array(count).fill(NONE);
  const found = {
    cost: new Float64Array(count),
    isStraightLine: new Uint8Array(count),
    callsIndirectly: new Uint8Array(count),
    callees,
    usesData: false,
  };
  const ins = newInstruction();
  for (const [i, range] of module.bodies.entries()) {
    const index = i + module.importedFunctions;
    const reader = new Reader(module.bytes, range.start, range.end);
    module.space.locals =
      module.types[module.functionTypes[index]!]!.params + skipLocalDeclarations(reader).count;
    const calls: number[] = [];
    found.isStraightLine[index] = 1;
    while (!reader.done) {
      decode(reader, module.space, ins);
      const { opcode } = ins;
      found.cost[index]! += COST[opcode]!;
      if (opcode <= LAST_CONTROL) recordControl(found, index, ins, calls);
      else if (IS_BULK[opcode]) found.isStraightLine[index] = 0;
      else if (opcode === REF_FUNC) checkDeclared(module, ins.index, range.start);
      if (opcode === MEMORY_INIT || opcode === DATA_DROP) found.usesData = true;
    }
    if (calls.length > 0) callees[index] = calls;
  }
  return found;
}

function recordControl(
  found: { isStraightLine: Uint8Array; callsIndirectly: Uint8Array },
  index: number,
  ins: Instruction,
  calls: number[],
): void {
  const { opcode } = ins;
  if (!STRAIGHT_CONTROL.has(opcode)) found.isStraightLine[index] = 0;
  if (opcode === CALL || opcode === RETURN_CALL) calls.push(ins.index);
  else if (opcode === CALL_INDIRECT || opcode === RETURN_CALL_INDIRECT) found.callsIndirectly[index] = 1;
}

/** An exported function may be referenced without an element segment; dropping its export would then break it. */
function checkDeclared(module: ParsedModule, index: number, at: number): void {
  if (!module.addressTaken.has(index)) {
    throw invalid('ref.func of a function that no element segment or global declares', at);
  }
}
