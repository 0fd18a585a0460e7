/** What loops and functions do with variables, for the languages whose syntax trees have nodes of the same form. */
import type { SyntaxNode } from '@lezer/common';
import type { LoopBody, SourceFunction } from '../../analysis/program-facts.ts';
import { children, type SourceTree } from './source-tree.ts';

const MAX_NAMES = 50;
const CONDITIONAL: ReadonlySet<string> = new Set(
  'if for while switch match and or LogicOp ConditionalExpression try continue break return raise throw yield await'.split(
    ' ',
  ),
);
const ASSIGNMENTS: ReadonlySet<string> = new Set(
  'AssignStatement UpdateStatement AssignmentExpression PostfixExpression UnaryExpression'.split(' '),
);
const CALLS: ReadonlySet<string> = new Set(['CallExpression']);
/** Methods that add one item, or several. */
const APPEND: ReadonlySet<string> = new Set(['append', 'push']);
const GROW: ReadonlySet<string> = new Set(['append', 'push', 'insert', 'extend', 'unshift']);

export const NO_BODY: LoopBody = {
  isConditional: false,
  appended: [],
  grown: [],
  increased: [],
  decreased: [],
  followed: [],
};

/** `body` has the statements; `loop` also has the part of the head that changes a counter. */
export function bodyFacts(tree: SourceTree, loop: SyntaxNode, body: SyntaxNode): LoopBody {
  const [appended, grown, increased, decreased, followed]: string[][] = [[], [], [], [], []];
  let changesLinks = false;
  for (const call of tree.all(CALLS, body)) {
    const name = methodOwner(tree, call);
    if (name !== undefined && APPEND.has(tree.calledName(call))) appended!.push(name);
    if (name !== undefined && GROW.has(tree.calledName(call))) grown!.push(name);
  }
  for (const node of tree.all(ASSIGNMENTS, loop)) {
    const { target, operator, value } = assignment(tree, node);
    if (target === undefined) continue;
    if (target.name === 'MemberExpression') changesLinks ||= operator === '=' && isAttribute(target);
    if (!isName(target)) continue;
    const name = tree.text(target);
    if (operator === '+=') grown!.push(name);
    const step = operator === '=' && value !== undefined ? stepOf(tree, name, value) : operator;
    if (step.startsWith('+')) increased!.push(name);
    if (step.startsWith('-')) decreased!.push(name);
    if (step === '.') followed!.push(name);
  }
  const few = (names: string[] | undefined) => names!.slice(0, MAX_NAMES);
  return {
    isConditional: tree.all(CONDITIONAL, body).length > 0,
    appended: few(appended),
    grown: few(grown),
    increased: few(increased),
    decreased: few(decreased),
    followed: changesLinks ? [] : few(followed),
  };
}

const isName = ({ name }: SyntaxNode) => name === 'VariableName';
const isAttribute = (member: SyntaxNode) => member.lastChild?.name === 'PropertyName';

/** The variable whose method is called. */
function methodOwner(tree: SourceTree, call: SyntaxNode): string | undefined {
  const owner = call.firstChild?.name === 'MemberExpression' ? call.firstChild.firstChild : undefined;
  return owner && isName(owner) ? tree.text(owner) : undefined;
}

/** The parts of `x = y`, `x += y`, `x++` or `++x`. */
function assignment(tree: SourceTree, node: SyntaxNode) {
  const parts = children(node);
  const at = parts.findIndex(({ name }) => /^(?:AssignOp|UpdateOp|Equals|ArithOp)$/.test(name));
  const operator = at < 0 ? '' : tree.text(parts[at]!);
  const isStep = /^(?:\+\+|--)$/.test(operator);
  if (node.name === 'UnaryExpression') return { target: isStep ? parts[1] : undefined, operator };
  return { target: at > 0 ? parts[0] : undefined, operator, value: parts[at + 1] };
}

/** How a value differs from the variable: `+` or `-`, `.` for an attribute of it, or nothing. */
function stepOf(tree: SourceTree, variable: string, value: SyntaxNode): string {
  const [first, operator] = children(value);
  if (first === undefined || operator === undefined || tree.text(first) !== variable) return '';
  if (value.name === 'BinaryExpression') return tree.text(operator);
  return value.name === 'MemberExpression' && isAttribute(value) ? '.' : '';
}

// ---- functions ----

/** Functions that only print. */
const PRINTS = /^(?:print|console\.\w+)$/;
const STATEMENTS: ReadonlySet<string> = new Set(['ExpressionStatement']);
const PLAIN: ReadonlySet<string> = new Set(['(', ')', ',', 'TypeDef', 'TypeAnnotation']);

interface FunctionNode {
  readonly name: string;
  readonly node: SyntaxNode;
  readonly parameters: SyntaxNode | null;
  readonly body: SyntaxNode;
}

export function functionFacts(
  tree: SourceTree,
  { name, node, parameters, body }: FunctionNode,
): SourceFunction {
  const assigned = new Set<string>();
  const changed = new Set<string>();
  for (const one of tree.all(ASSIGNMENTS, body)) {
    const { target, operator } = assignment(tree, one);
    if (target === undefined) continue;
    if (isName(target)) assigned.add(tree.text(target));
    // A counter such as `count[0] += 1` is no change that makes calls different.
    else if (target.name === 'MemberExpression' && operator === '=') changed.add(rootOf(tree, target));
  }
  let callsItselfForEffect = false;
  for (const statement of tree.all(STATEMENTS, body)) {
    const inner = statement.firstChild;
    const call = inner?.name === 'AwaitExpression' ? inner.lastChild : inner;
    if (call?.name !== 'CallExpression' || PRINTS.test(tree.text(call.firstChild!))) continue;
    if (tree.calledName(call) === name) callsItselfForEffect = true;
    else changed.add(rootOf(tree, call.firstChild!));
  }
  const calls = tree.all(CALLS, body).filter((call) => tree.calledName(call) === name);
  const names = parameters === null ? undefined : parameterNames(tree, parameters);
  return {
    name,
    line: tree.lineOf(node.from),
    lastLine: tree.lastLineOf(node),
    parameters: names?.some((one) => assigned.has(one)) ? undefined : names,
    changed: [...changed].slice(0, MAX_NAMES),
    selfCalls: calls.map((call) => tree.lineOf(call.firstChild!.to - 1)).slice(0, MAX_NAMES),
    callsItselfForEffect,
  };
}

function parameterNames(tree: SourceTree, list: SyntaxNode): string[] | undefined {
  const names: string[] = [];
  let isDefault = false;
  for (const part of children(list)) {
    if (part.name === ',') isDefault = false;
    else if (part.name === 'AssignOp' || part.name === 'Equals') isDefault = true;
    if (isDefault || PLAIN.has(part.name)) continue;
    if (part.name !== 'VariableName' && part.name !== 'VariableDefinition') return undefined;
    names.push(tree.text(part));
  }
  return names;
}

/** The variable with which an expression such as `a.b[0].c` begins. */
function rootOf(tree: SourceTree, expression: SyntaxNode): string {
  let root = expression;
  while (root.name === 'MemberExpression' && root.firstChild !== null) root = root.firstChild;
  return tree.text(root);
}
