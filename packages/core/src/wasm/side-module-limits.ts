/**
 * Bounds on side modules, which strangers may have written. Compiling takes memory in proportion to the values that are live
 * at each branch, so a few kilobytes of code could take gigabytes. The limits are several times what the largest libraries
 * need (cryptography, lxml, hdf5plugin, pandas), and keep the optimisation of one function below about 1 GB.
 */
import { EMPTY_BLOCK } from './binary-format.ts';
import { invalid, Reader } from './binary-io.ts';
import { decode, type Instruction, newInstruction } from './decode-instruction.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import { LAST_CONTROL, OPCODES, opcodeOf, opcodesNamed } from './opcodes.ts';
import type { ParsedModule } from './parse-module.ts';

const REMEDY = 'Build the library with optimisation, or split it.';

export const MAX_MODULE_BYTES = 64 * 1024 * 1024;
/** Limits for one function. */
const FUNCTION_LIMITS = {
  parameters: 200,
  results: 8,
  'bytes of code': 1_500_000,
  locals: 5000,
  'nested blocks': 1500,
  /** Branches include blocks, calls and the targets of br_table. */
  branches: 30_000,
  /** The sum, over the branches, of the locals and operands that are live. */
  'live values at branches': 4_000_000,
} as const;

/** A loop takes the optimising compiler as much memory as this many other branches. */
const LOOP_WEIGHT = 10;

const OP = opcodesNamed(
  'nop block loop if else try catch end br br_if br_table call call_indirect delegate catch_all drop',
  'select select_t try_table',
);

/** By how much an instruction changes the number of operands, or more. The instructions are those that affect no branches. */
const OPERANDS = new Int8Array(0x500);
const PUSHES = /^(local\.get|global\.get|ref\.(null|func)|(memory|table)\.size)$|\.const$/;
const POPS_ONE =
  /^(local|global)\.set$|\.(add|sub|mul|div|rem|and|or|xor|shl|shr|rotl|rotr|eq|ne|lt|gt|le|ge|min|max|copysign|swizzle|shuffle)(_[su])?$/;
const POPS_TWO = /\.store(8|16|32)?$|^table\.set$/;
const POPS_THREE = /^(memory|table)\.(copy|fill|init)$/;
for (const [prefix, code, name] of OPCODES) {
  const pops = POPS_ONE.test(name) ? 1 : POPS_TWO.test(name) ? 2 : POPS_THREE.test(name) ? 3 : 0;
  OPERANDS[opcodeOf(prefix, code)] = name.includes('atomic') ? 0 : PUSHES.test(name) ? 1 : -pops;
}

/** Throws SandboxError `module_invalid` if a type or a function exceeds the limits. */
export function checkFunctions(module: ParsedModule): void {
  for (const [i, { params, results }] of module.types.entries()) {
    check(`type ${i}`, 'parameters', params);
    check(`type ${i}`, 'results', results);
  }
  const checker = new FunctionChecker(module);
  for (const i of module.bodies.keys()) checker.check(i);
}

function check(item: string, what: keyof typeof FUNCTION_LIMITS, found: number): void {
  const limit = FUNCTION_LIMITS[what];
  if (found > limit)
    throw invalid(`${item} has ${found} ${what}, and the limit is ${limit}`, undefined, REMEDY);
}

interface OpenBlock {
  /** Operands below the block. */
  readonly base: number;
  readonly params: number;
  readonly results: number;
  readonly isTry: boolean;
}

/** Follows the number of operands through a body. The count is exact or too high, because only the engine checks types. */
class FunctionChecker {
  readonly #module: ParsedModule;
  readonly #ins: Instruction = newInstruction();
  /** The most operands that a handler receives. */
  readonly #caught: number;
  readonly #open: OpenBlock[] = [];
  /** Number of open blocks that handle exceptions. */
  #handlers = 0;
  #locals = 0;
  #operands = 0;
  #branches = 0;
  #live = 0;
  #deepest = 0;

  constructor(module: ParsedModule) {
    this.#module = module;
    this.#caught = module.tagTypes.reduce((most, type) => Math.max(most, module.types[type]!.params), 0);
  }

  check(body: number): void {
    const { bytes, bodies, importedFunctions, functionTypes, types, space } = this.#module;
    const { start, end } = bodies[body]!;
    const item = `function ${importedFunctions + body}`;
    check(item, 'bytes of code', end - start);
    const reader = new Reader(bytes, start, end);
    const { params, results } = types[functionTypes[importedFunctions + body]!]!;
    const declared = skipLocalDeclarations(reader).count;
    check(item, 'locals', declared);
    this.#locals = space.locals = params + declared;
    this.#operands = this.#branches = this.#live = this.#deepest = 0;
    this.#enter({ params: 0, results }, false);
    while (this.#open.length > 0) {
      decode(reader, space, this.#ins);
      const { opcode } = this.#ins;
      if (opcode > LAST_CONTROL) this.#move(OPERANDS[opcode]!);
      else this.#control(opcode);
    }
    check(item, 'nested blocks', this.#deepest);
    check(item, 'branches', this.#branches);
    check(item, 'live values at branches', this.#live);
  }

  #control(opcode: number): void {
    switch (opcode) {
      case OP.if:
        this.#move(-1);
        this.#block(1);
        break;
      case OP.loop:
        this.#block(LOOP_WEIGHT);
        break;
      case OP.block:
      case OP.try:
      case OP.try_table:
        this.#block(1);
        break;
      case OP.else:
      case OP.catch:
      case OP.catch_all:
        this.#dead(opcode === OP.else ? this.#open.at(-1)!.params : this.#caught);
        this.#branch(1);
        break;
      case OP.end:
      case OP.delegate:
        this.#leave();
        break;
      case OP.br:
        this.#branch(1);
        this.#dead();
        break;
      case OP.br_if:
        this.#move(-1);
        this.#branch(1);
        break;
      case OP.br_table:
        this.#branch(this.#ins.labels.length);
        this.#dead();
        break;
      case OP.call:
        this.#call(this.#module.functionTypes[this.#ins.index]!, 0);
        break;
      case OP.call_indirect:
        this.#call(this.#ins.index, 1);
        break;
      case OP.drop:
        this.#move(-1);
        break;
      case OP.select:
      case OP.select_t:
        this.#move(-2);
        break;
      case OP.nop:
        break;
      default:
        // Returns, traps and throws.
        this.#leaveThroughHandler();
        this.#dead();
        break;
    }
  }

  /** Operands of the enclosing block cannot be taken, not even by code that is never reached. */
  #move(change: number): void {
    this.#operands = Math.max(this.#operands + change, this.#open.at(-1)!.base);
  }

  #dead(operands = 0): void {
    this.#operands = this.#open.at(-1)!.base + operands;
  }

  #branch(count: number): void {
    this.#branches += count;
    this.#live += count * (this.#locals + this.#operands);
  }

  #leaveThroughHandler(): void {
    if (this.#handlers > 0) this.#branch(1);
    else this.#branches++;
  }

  #call(type: number, target: number): void {
    const { params, results } = this.#module.types[type]!;
    this.#move(-params - target);
    this.#leaveThroughHandler();
    this.#operands += results;
  }

  #block(weight: number): void {
    this.#branch(weight);
    this.#deepest = Math.max(this.#deepest, this.#open.length);
    const { index, opcode } = this.#ins;
    const isTry = opcode === OP.try || opcode === OP.try_table;
    if (index >= 0) this.#enter(this.#module.types[index]!, isTry);
    else this.#enter({ params: 0, results: index === EMPTY_BLOCK - 0x80 ? 0 : 1 }, isTry);
  }

  #enter({ params, results }: { params: number; results: number }, isTry: boolean): void {
    this.#open.push({ base: Math.max(0, this.#operands - params), params, results, isTry });
    if (isTry) this.#handlers++;
  }

  #leave(): void {
    const { base, results, isTry } = this.#open.pop()!;
    this.#operands = base + results;
    if (isTry) this.#handlers--;
  }
}
