/**
 * Generates valid modules from a tape of numbers. Each choice consumes one number, and after the end of the tape every
 * choice is 0, the simplest option, so a property-testing library shrinks a module by shrinking the tape.
 * Invariant: every program terminates. Each function entry and each loop iteration decrements a global step counter
 * and returns when it reaches zero.
 */
import type { Code, FunctionSource, ModuleSource } from './assembler.ts';

const STEPS = 40;
/** Function indices: 0 is the imported probe, 1 and 2 are constant-cost functions, the generated ones follow. */
const PROBE = 0;
const LEAF = 1;
const NESTED_LEAF = 2;
const FIRST = 3;
const GENERATED = 3;
/** Locals of a generated function: two parameters and two declared locals. */
const LOCALS = 4;

const TYPE = { pair: 0, none: 1, tag: 2 } as const;

interface Label {
  /** Number of operands of a branch to the label. */
  readonly arity: 0 | 1;
  /** Whether code in the block may rethrow. */
  readonly handler: boolean;
}

export function generate(tape: readonly number[]): ModuleSource {
  const choices = new Choices(tape);
  const functions: FunctionSource[] = [
    // Constant-cost functions: their callers charge for them.
    { type: TYPE.pair, code: [['local.get', 0], ['local.get', 1], ['i32.add']] },
    {
      type: TYPE.pair,
      code: [['local.get', 1], ['local.get', 0], ['call', LEAF], ['i32.const', 3], ['i32.add']],
    },
  ];
  for (let i = 0; i < GENERATED; i++) {
    const body = new Body(choices).make();
    functions.push({
      type: TYPE.pair,
      locals: ['i32', 'i32'],
      code: body,
      ...(i === 0 && { export: 'run' }),
    });
  }
  return {
    types: [
      [['i32', 'i32'], ['i32']],
      [[], []],
      [['i32'], []],
    ],
    imports: [['probe', TYPE.none]],
    functions,
    tables: [8],
    memoryPages: 1,
    tags: [TYPE.tag],
    globals: [STEPS],
    elements: [FIRST, FIRST + 1, FIRST + 2, FIRST, FIRST, FIRST + 1, FIRST + 2, FIRST],
    data: [{ bytes: Array.from({ length: 64 }, (_, i) => i) }],
  };
}

class Choices {
  private at = 0;
  private readonly tape: readonly number[];

  constructor(tape: readonly number[]) {
    this.tape = tape;
  }

  below(limit: number): number {
    return (this.tape[this.at++] ?? 0) % limit;
  }

  get empty(): boolean {
    return this.at >= this.tape.length;
  }
}

class Body {
  private readonly choices: Choices;
  private readonly labels: Label[] = [{ arity: 1, handler: false }];

  constructor(choices: Choices) {
    this.choices = choices;
  }

  make(): Code[] {
    return [...this.takeStep(), ...this.statements(6), ...this.value(1)];
  }

  /** Returns when no steps are left. */
  private takeStep(): Code[] {
    return [
      ['global.get', 0],
      ['i32.const', 1],
      ['i32.sub'],
      ['global.set', 0],
      ['global.get', 0],
      ['i32.const', 0],
      ['i32.lt_s'],
      { op: 'if', yes: [['i32.const', 7], ['return']] },
    ];
  }

  private statements(most: number): Code[] {
    const made: Code[] = [];
    for (let left = this.choices.below(most + 1); left > 0 && !this.choices.empty; left--) {
      made.push(...this.statement());
    }
    return made;
  }

  private statement(): Code[] {
    const deep = this.labels.length > 7;
    switch (this.choices.below(deep ? 12 : 20)) {
      case 0:
        return [...this.value(2), ['local.set', this.choices.below(LOCALS)]];
      case 1:
        return [...this.address(), ...this.value(1), ['i32.store8', 0, 0]];
      case 2:
        return this.branch();
      case 3:
      case 4:
        return this.conditionalBranch();
      case 5:
        return this.branchTable();
      case 6:
        return [['call', PROBE]];
      case 7:
        return this.bulk();
      case 8:
        return this.call();
      case 9:
        return [...this.value(1), ['throw', 0]];
      case 10:
        return this.rethrow();
      case 11:
        return this.choices.below(2) === 0 ? [['nop']] : [...this.value(1), ['return']];
      default:
        return this.structured();
    }
  }

  private structured(): Code[] {
    switch (this.choices.below(7)) {
      case 0:
        return [{ op: 'block', type: 'void', body: this.inside(0, () => this.statements(4)) }];
      case 1:
        return [...this.value(1), { op: 'if', yes: this.inside(0, () => this.statements(4)) }];
      case 2: {
        const condition = this.value(1);
        const first = this.inside(0, () => this.statements(3));
        return [...condition, { op: 'if', yes: first, no: this.inside(0, () => this.statements(3)) }];
      }
      case 3:
        return [
          {
            op: 'loop',
            type: 'void',
            body: this.inside(0, () => [...this.takeStep(), ...this.statements(4)]),
          },
        ];
      case 4:
        return [...this.valueBlock(), ['local.set', this.choices.below(LOCALS)]];
      default:
        return [this.handled()];
    }
  }

  private handled(): Code {
    const body = this.inside(0, () => this.statements(4));
    switch (this.choices.below(4)) {
      case 0:
        return { op: 'try', body, catchAll: this.inside(0, () => this.statements(3), true) };
      case 1:
        return { op: 'try', body, delegate: this.choices.below(this.labels.length) };
      case 2:
        return { op: 'try', body, catch: this.catching() };
      default: {
        const first = this.catching();
        return { op: 'try', body, catch: first, catchAll: this.inside(0, () => this.statements(2), true) };
      }
    }
  }

  private catching(): Code[] {
    const local = this.choices.below(LOCALS);
    return [['local.set', local], ...this.inside(0, () => this.statements(3), true)];
  }

  private inside(arity: 0 | 1, make: () => Code[], handler = false): Code[] {
    this.labels.unshift({ arity, handler });
    const made = make();
    this.labels.shift();
    return made;
  }

  private branch(): Code[] {
    const depth = this.choices.below(this.labels.length);
    return [...(this.labels[depth]!.arity ? this.value(1) : []), ['br', depth]];
  }

  private conditionalBranch(): Code[] {
    const depth = this.choices.below(this.labels.length);
    if (this.labels[depth]!.arity === 0) return [...this.value(1), ['br_if', depth]];
    return [...this.value(1), ...this.value(1), ['br_if', depth], ['drop']];
  }

  private branchTable(): Code[] {
    const { arity } = this.labels[this.choices.below(this.labels.length)]!;
    const fitting = this.labels.flatMap((label, depth) => (label.arity === arity ? [depth] : []));
    const targets = Array.from(
      { length: 1 + this.choices.below(4) },
      () => fitting[this.choices.below(fitting.length)]!,
    );
    return [...(arity ? this.value(1) : []), ...this.value(1), { op: 'br_table', targets }];
  }

  private rethrow(): Code[] {
    const depth = this.labels.findIndex((label) => label.handler);
    return depth < 0 ? [['nop']] : [['rethrow', depth]];
  }

  private call(): Code[] {
    const target: Code[][] = [
      [['call', FIRST + this.choices.below(GENERATED)]],
      [['call', LEAF]],
      [['call', NESTED_LEAF]],
      [...this.value(1), ['i32.const', 7], ['i32.and'], ['call_indirect', TYPE.pair, 0]],
    ];
    return [
      ...this.value(1),
      ...this.value(1),
      ...target[this.choices.below(target.length)]!,
      ['local.set', this.choices.below(LOCALS)],
    ];
  }

  private bulk(): Code[] {
    switch (this.choices.below(5)) {
      case 0:
        return [...this.address(), ...this.value(1), ...this.address(), ['memory.fill', 0]];
      case 1:
        return [...this.address(), ...this.address(), ...this.address(), ['memory.copy', 0, 0]];
      case 2:
        return [...this.address(), ...this.small(31), ...this.small(31), ['memory.init', 0, 0]];
      case 3:
        return [...this.small(3), ...this.small(3), ...this.small(3), ['table.copy', 0, 0]];
      default:
        return [...this.small(1), ['memory.grow', 0], ['drop']];
    }
  }

  private address(): Code[] {
    return this.small(0xfff);
  }

  private small(mask: number): Code[] {
    return [...this.value(1), ['i32.const', mask], ['i32.and']];
  }

  private valueBlock(): Code[] {
    return [
      { op: 'block', type: 'i32', body: this.inside(1, () => [...this.statements(3), ...this.value(1)]) },
    ];
  }

  private value(depth: number): Code[] {
    switch (this.choices.below(depth > 0 ? 8 : 3)) {
      case 0:
        return [['i32.const', this.choices.below(300)]];
      case 1:
      case 2:
        return [['local.get', this.choices.below(LOCALS)]];
      case 3:
        return [...this.value(depth - 1), ...this.value(depth - 1), ['i32.add']];
      case 4:
        return [...this.value(depth - 1), ...this.value(depth - 1), ['i32.lt_s']];
      case 5:
        return [...this.value(depth - 1), ...this.value(depth - 1), ...this.value(depth - 1), ['select']];
      case 6:
        return [...this.address0(), ['i32.load8_u', 0, 0]];
      default:
        return [...this.value(depth - 1), ['i32.eqz']];
    }
  }

  private address0(): Code[] {
    return [...this.value(0), ['i32.const', 0xff], ['i32.and']];
  }
}
