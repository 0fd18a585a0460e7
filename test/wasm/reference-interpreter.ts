/**
 * Interprets instruction trees and counts their fuel, as the reference for the metered code. It supports only i32 code
 * and has its own cost rules, so that an error in the opcode table is detected.
 * Invariant: an instruction is charged when it executes, not earlier.
 */
import type { Code, FunctionSource, ModuleSource } from './assembler.ts';

/** Thrown by `throw` and caught by `try`. */
class Thrown {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** An exception that a `delegate` passes to the handler `depth` blocks further out. */
class Delegated {
  readonly depth: number;
  readonly thrown: Thrown;
  constructor(depth: number, thrown: Thrown) {
    this.depth = depth;
    this.thrown = thrown;
  }

  /** The exception after it leaves one more block. */
  outward(): Delegated | Thrown {
    return this.depth > 0 ? new Delegated(this.depth - 1, this.thrown) : this.thrown;
  }
}

/** The target of an instruction that does not fall through: a label at `depth`, or the end of the function. */
type Exit = { readonly depth: number } | 'return';

export interface Outcome {
  readonly result: number | 'thrown';
  readonly fuel: number;
  /** Fuel used at each call of the imported function, including the call instruction. */
  readonly probes: number[];
  readonly memory: Uint8Array;
}

const FREE = new Set(['nop', 'drop', 'unreachable', 'return', 'block', 'loop', 'try']);
const PAGE = 65536;

export class Interpreter {
  fuel = 0;
  readonly probes: number[] = [];
  private memory: Uint8Array;
  private readonly globals: number[];
  private readonly table: (number | undefined)[];
  private readonly source: ModuleSource;
  private readonly imported: number;

  constructor(source: ModuleSource) {
    this.source = source;
    this.imported = source.imports?.length ?? 0;
    this.memory = new Uint8Array((source.memoryPages ?? 0) * PAGE);
    this.globals = [...(source.globals ?? [])];
    this.table = Array.from({ length: source.tables?.[0] ?? 0 }, (_, i) => source.elements?.[i]);
  }

  run(name: string, args: readonly number[]): Outcome {
    const index = this.source.functions.findIndex((item) => item.export === name) + this.imported;
    let result: Outcome['result'];
    try {
      result = this.call(index, [...args]) ?? 0;
    } catch (error) {
      if (!(error instanceof Thrown)) throw error;
      result = 'thrown';
    }
    return { result, fuel: this.fuel, probes: this.probes, memory: this.memory };
  }

  private call(index: number, args: number[]): number | undefined {
    if (index < this.imported) {
      this.probes.push(this.fuel);
      return undefined;
    }
    const item = this.source.functions[index - this.imported]!;
    const frame = new Frame(this, args.concat((item.locals ?? []).map(() => 0)));
    try {
      frame.list(item.code as readonly Code[]);
    } catch (error) {
      throw error instanceof Delegated ? error.thrown : error;
    }
    return this.source.types[item.type]![1].length > 0 ? frame.stack.at(-1) : undefined;
  }

  /** Calls a function of the module with operands from the stack. */
  invoke(index: number, stack: number[]): void {
    const type =
      index < this.imported ? this.source.imports![index]![1] : (this.functionAt(index).type as number);
    const count = this.source.types[type]![0].length;
    const result = this.call(index, count === 0 ? [] : stack.splice(-count));
    if (result !== undefined) stack.push(result);
  }

  private functionAt(index: number): FunctionSource {
    return this.source.functions[index - this.imported]!;
  }

  /** Executes instructions that access the state of the module. */
  stateful(name: string, immediate: number, stack: number[]): void {
    const pop = () => stack.pop()!;
    if (name === 'call') this.invoke(immediate, stack);
    else if (name === 'call_indirect') this.invoke(this.table[pop()]!, stack);
    else if (name === 'global.get') stack.push(this.globals[immediate]!);
    else if (name === 'global.set') this.globals[immediate] = pop();
    else if (name === 'i32.load8_u') stack.push(this.memory[pop()]!);
    else if (name === 'i32.store8') {
      const value = pop();
      this.memory[pop()] = value;
    } else if (name === 'memory.grow') this.grow(pop(), stack);
    else if (name === 'memory.size') stack.push(this.memory.length / PAGE);
    else this.bulk(name, immediate, pop(), pop(), pop());
  }

  private grow(pages: number, stack: number[]): void {
    this.fuel += pages * 8192;
    stack.push(this.memory.length / PAGE);
    const larger = new Uint8Array(this.memory.length + pages * PAGE);
    larger.set(this.memory);
    this.memory = larger;
  }

  private bulk(name: string, immediate: number, length: number, from: number, to: number): void {
    this.fuel += name.startsWith('memory.') ? length >>> 3 : length;
    if (name === 'memory.fill') this.memory.fill(from, to, to + length);
    else if (name === 'memory.copy') this.memory.copyWithin(to, from, from + length);
    else if (name === 'memory.init') {
      this.memory.set(this.source.data![immediate]!.bytes.slice(from, from + length), to);
    } else if (name === 'table.copy') this.table.copyWithin(to, from, from + length);
    else throw new Error(`unsupported instruction: ${name}`);
  }
}

class Frame {
  readonly stack: number[] = [];
  private readonly owner: Interpreter;
  private readonly locals: number[];
  /** The exceptions for rethrow, one per open block; undefined for blocks that are not handlers. */
  private readonly caught: (Thrown | undefined)[] = [undefined];

  constructor(owner: Interpreter, locals: number[]) {
    this.owner = owner;
    this.locals = locals;
  }

  list(code: readonly Code[]): Exit | undefined {
    for (const item of code) {
      const name = 'op' in item ? item.op : item[0];
      if (!FREE.has(name)) this.owner.fuel += 1;
      const exit = 'op' in item ? this.structured(item) : this.plain(item);
      if (exit !== undefined) return exit;
    }
    return undefined;
  }

  /** Runs one arm of a block. A branch to the block ends it. */
  private arm(code: readonly Code[], caught?: Thrown): Exit | undefined {
    const height = this.caught.length;
    this.caught.push(caught);
    try {
      const exit = this.list(code);
      if (exit === undefined || exit === 'return') return exit;
      return exit.depth === 0 ? undefined : { depth: exit.depth - 1 };
    } catch (error) {
      throw error instanceof Delegated ? error.outward() : error;
    } finally {
      this.caught.length = height;
    }
  }

  private structured(item: Exclude<Code, readonly unknown[]>): Exit | undefined {
    switch (item.op) {
      case 'block':
        return this.arm(item.body);
      case 'loop':
        return this.loop(item.body);
      case 'if':
        return this.stack.pop() !== 0 ? this.arm(item.yes) : this.arm(item.no ?? []);
      case 'br_table':
        return { depth: item.targets[Math.min(this.stack.pop()! >>> 0, item.targets.length - 1)]! };
      case 'try':
        return this.handled(item);
    }
  }

  private loop(body: readonly Code[]): Exit | undefined {
    for (;;) {
      this.caught.push(undefined);
      const exit = this.iteration(body);
      this.caught.pop();
      if (exit === undefined || exit === 'return') return exit;
      if (exit.depth > 0) return { depth: exit.depth - 1 };
    }
  }

  private iteration(body: readonly Code[]): Exit | undefined {
    try {
      return this.list(body);
    } catch (error) {
      throw error instanceof Delegated ? error.outward() : error;
    }
  }

  private handled(item: Extract<Code, { op: 'try' }>): Exit | undefined {
    const height = this.stack.length;
    const depth = this.caught.length;
    try {
      return this.arm(item.body);
    } catch (error) {
      if (!(error instanceof Thrown)) throw error;
      if (item.delegate !== undefined) throw new Delegated(item.delegate, error);
      this.stack.length = height;
      this.caught.length = depth;
      if (item.catch) {
        this.stack.push(error.value);
        return this.arm(item.catch, error);
      }
      if (item.catchAll) return this.arm(item.catchAll, error);
      throw error;
    }
  }

  private plain(item: readonly [string, ...number[]]): Exit | undefined {
    const [name, immediate = 0] = item;
    const { stack } = this;
    switch (name) {
      case 'nop':
        return undefined;
      case 'drop':
        stack.pop();
        return undefined;
      case 'br':
        return { depth: immediate };
      case 'br_if':
        return stack.pop() !== 0 ? { depth: immediate } : undefined;
      case 'return':
        return 'return';
      case 'return_call':
        this.owner.invoke(immediate, stack);
        return 'return';
      case 'throw':
        throw new Thrown(stack.pop()!);
      case 'rethrow':
        throw this.caught.at(-1 - immediate)!;
      case 'i32.const':
        stack.push(immediate | 0);
        return undefined;
      default:
        this.operator(name, immediate);
        return undefined;
    }
  }

  private operator(name: string, immediate: number): void {
    const { stack, locals } = this;
    if (name === 'local.get') stack.push(locals[immediate]!);
    else if (name === 'local.set') locals[immediate] = stack.pop()!;
    else if (name === 'local.tee') locals[immediate] = stack.at(-1)!;
    else if (name in BINARY) {
      const right = stack.pop()!;
      stack.push(BINARY[name]!(stack.pop()!, right));
    } else if (name === 'i32.eqz') stack.push(stack.pop() === 0 ? 1 : 0);
    else if (name === 'select') {
      const [yes, no, condition] = stack.splice(-3);
      stack.push(condition !== 0 ? yes! : no!);
    } else this.owner.stateful(name, immediate, stack);
  }
}

const BINARY: Readonly<Record<string, (left: number, right: number) => number>> = {
  'i32.add': (left, right) => (left + right) | 0,
  'i32.sub': (left, right) => (left - right) | 0,
  'i32.and': (left, right) => left & right,
  'i32.lt_s': (left, right) => (left < right ? 1 : 0),
};
