/**
 * Whether statements of a Python program can raise an exception that it may handle, as far as its source shows. Functions
 * of the program are followed; all other calls can raise one.
 */
import type { SyntaxNode } from '@lezer/common';
import { children, type SourceTree } from '../../syntax/source-tree.ts';

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '));
const HARMLESS_CALLS = set('print len str repr');
const RISKY = set('CallExpression MemberExpression BinaryExpression UpdateStatement AssignStatement');
/** Statements and calls that end a function early or from outside. */
const ENDS = set(
  'RaiseStatement AssertStatement yield await ImportStatement WithStatement DeleteStatement ClassDefinition nonlocal',
);
const ENDING_CALLS = set('exit quit next pop popleft input get_nowait');
/** Functions that can cause a KeyboardInterrupt. */
const INTERRUPTS = ['interrupt_main', 'raise_signal', 'alarm', 'setitimer', 'kill'];
const MAX_FUNCTIONS = 20;

/** How names are used in a program. */
export interface UsedNames {
  has(name: string, as?: 'definition'): boolean;
  /** The function with a name, if it is the only one and the name is only called. */
  definition(name: string): SyntaxNode | undefined;
  /** The program raises exceptions. */
  readonly raises: boolean;
  /** The program can cause a KeyboardInterrupt. */
  readonly interrupts: boolean;
}

export function usedNames(tree: SourceTree): UsedNames {
  const uses = new Map<string, { definitions: SyntaxNode[]; others: number }>();
  for (const node of tree.all(set('VariableName PropertyName'))) {
    const name = tree.text(node);
    const use = uses.get(name) ?? { definitions: [], others: 0 };
    uses.set(name, use);
    const { parent } = node;
    if (parent?.name === 'FunctionDefinition') use.definitions.push(parent);
    else if (node.name === 'VariableName' && !(parent?.name === 'CallExpression')) use.others++;
  }
  const raised = tree.all(set('RaiseStatement')).map((node) => tree.text(node));
  return {
    raises: raised.length > 0,
    interrupts:
      raised.some((text) => /\bKeyboardInterrupt\b/.test(text)) || INTERRUPTS.some((name) => uses.has(name)),
    has: (name, as) => (as === undefined ? uses.has(name) : (uses.get(name)?.definitions.length ?? 0) > 0),
    definition: (name) => {
      const use = uses.get(name);
      return use?.definitions.length === 1 && use.others === 0 ? use.definitions[0] : undefined;
    },
  };
}

/** Whether a `try` has a handler for exceptions of the program, or a `with` suppresses them. */
export function isHandler(tree: SourceTree, node: SyntaxNode, { interrupts }: UsedNames): boolean {
  const parts = children(node);
  if (node.name === 'WithStatement')
    return parts.some(
      (part) => part.name === 'CallExpression' && /^(?:suppress|raises)$/.test(tree.calledName(part)),
    );
  return parts.some(({ name }, i) => {
    if (name !== 'except') return false;
    const onlyInterrupts = tree.text(parts[i + 1]!) === 'KeyboardInterrupt' && parts[i + 2]?.name !== ',';
    return interrupts || !onlyInterrupts;
  });
}

/** Returns a function that examines the statements in a node. */
export function exceptionFinder(tree: SourceTree, names: UsedNames): (body: SyntaxNode) => boolean {
  /** The functions that were examined, and whether they raise no exception. */
  const examined = new Map<string, boolean>();
  const isHarmless = (name: string): boolean => {
    const known = examined.get(name);
    const definition = names.definition(name);
    if (known !== undefined || definition === undefined || examined.size >= MAX_FUNCTIONS)
      return known ?? false;
    // A function that calls itself can exceed the recursion limit.
    examined.set(name, false);
    const around = definition.parent?.name;
    const isMethod = definition.parent?.parent?.name === 'ClassDefinition';
    const body = children(definition).find((part) => part.name === 'Body');
    const isPlain = body !== undefined && around !== 'DecoratedStatement' && !isMethod;
    const harmless = isPlain && tree.all(ENDS, body).length === 0 && !raises(body, ENDING_CALLS);
    examined.set(name, harmless);
    return harmless;
  };
  const raises = (body: SyntaxNode, ending?: ReadonlySet<string>): boolean =>
    tree.all(RISKY, body).some((node) => {
      const [first, operator, value] = children(node);
      if (first === undefined || operator === undefined) return false;
      switch (node.name) {
        case 'CallExpression': {
          const name = tree.calledName(node);
          if (ending?.has(name)) return true;
          if (first.name === 'MemberExpression') return name !== 'append';
          return !HARMLESS_CALLS.has(name) && !isHarmless(name);
        }
        case 'MemberExpression':
          // Attributes of `self` are assumed to exist.
          if (operator.name === '[') return true;
          return tree.text(first) !== 'self' && tree.text(node.lastChild!) !== 'append';
        case 'AssignStatement':
          return isUnpacking(node);
        default: {
          const text = tree.text(operator).replace(/=$/, '');
          const isSafe = value?.name === 'Number' && /^0*[1-9]/.test(tree.text(value));
          return text === '**' || text === '/' || ((text === '//' || text === '%') && !isSafe);
        }
      }
    });
  return raises;
}

/** `a, b = pair`. */
function isUnpacking(assignment: SyntaxNode): boolean {
  const parts = children(assignment).map(({ name }) => name);
  const at = parts.indexOf('AssignOp');
  return parts.slice(0, at).includes(',') && !parts.slice(at).includes(',');
}
