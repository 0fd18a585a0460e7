/** Finds the loops and functions of a Python program in its syntax tree. */
import type { SyntaxNode } from '@lezer/common';
import type { SourceFacts, SourceLoop } from '../../../analysis/program-facts.ts';
import { bodyFacts, functionFacts, NO_BODY } from '../../syntax/source-facts.ts';
import { ancestors, children, SourceTree } from '../../syntax/source-tree.ts';
import { exceptionFinder, isHandler, type UsedNames, usedNames } from './may-raise.ts';

const MAX_LOOPS = 200;
const MAX_FUNCTIONS = 300;
const set = (names: string): ReadonlySet<string> => new Set(names.split(' '));
const LOOPS = set('ForStatement WhileStatement');
const SCOPES = set('FunctionDefinition LambdaExpression ClassDefinition');
const LEAVING = set('BreakStatement ReturnStatement RaiseStatement AssertStatement CallExpression');
/** Functions that typically end a loop with an exception, or end the program. */
const LEAVING_CALLS = set('exit _exit quit next pop popleft input get_nowait');
const AWAITING = set('AwaitExpression async');
const CALLS = set('CallExpression');
/** Functions that read an iterator up to its end, and functions that can stop before. */
const CONSUMERS = set('sum max min list tuple set frozenset sorted dict Counter deque join reduce');
const PARTIAL = set('next any all takewhile islice zip batched');
/** Comprehensions that are evaluated where they stand. Generators are not. */
const EAGER = /^(?:Array|Set|Dictionary)ComprehensionExpression$/;
/** Calls that can end a task from outside, or continue another one later. */
const LATER = set('cancel wait_for timeout timeout_at call_later call_at');
const ENDS_PROGRAM = set('exit _exit quit abort');
const OPPOSITE: Readonly<Record<string, string>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<', '==': '!=' };

export const readPython = (code: string): SourceFacts | undefined =>
  SourceTree.read(['python'], code, (tree) => ({
    loops: loopsOf(tree),
    functions: functionsOf(tree),
    calls: [],
  }));

const childNamed = (node: SyntaxNode, name: string) => children(node).find((child) => child.name === name);

function functionsOf(tree: SourceTree) {
  return tree
    .all(set('FunctionDefinition'))
    .slice(0, MAX_FUNCTIONS)
    .flatMap((node) => {
      const [name, body] = [childNamed(node, 'VariableName'), childNamed(node, 'Body')];
      if (name === undefined || body === undefined) return [];
      const parameters = childNamed(node, 'ParamList') ?? null;
      return [functionFacts(tree, { name: tree.text(name), node, parameters, body })];
    });
}

/** What the loops of a program have in common. */
interface ParsedProgram {
  readonly tree: SourceTree;
  readonly names: UsedNames;
  readonly raises: (body: SyntaxNode) => boolean;
  readonly handlers: readonly SyntaxNode[];
  readonly hasTimers: boolean;
  readonly canExit: boolean;
  /** Generators that never end, and whether they can raise an exception. */
  readonly generators: Map<string, boolean>;
}

function loopsOf(tree: SourceTree): SourceLoop[] {
  const names = usedNames(tree);
  const calls = tree.all(CALLS);
  const program: ParsedProgram = {
    tree,
    names,
    raises: exceptionFinder(tree, names),
    handlers: tree.all(set('TryStatement WithStatement')).filter((node) => isHandler(tree, node, names)),
    hasTimers: calls.some((call) => {
      const name = tree.calledName(call);
      return LATER.has(name) || (name === 'sleep' && !isZero(tree, call));
    }),
    canExit: names.has('SystemExit') || calls.some((call) => ENDS_PROGRAM.has(tree.calledName(call))),
    generators: new Map(),
  };
  const heads = tree.all(LOOPS).slice(0, MAX_LOOPS);
  for (const loop of heads) addGenerator(program, loop);
  const loops = [
    ...heads.flatMap((loop) => statementLoop(program, loop)),
    ...tree.all(set('for')).flatMap((word) => comprehensionLoop(program, word)),
    ...calls.flatMap((call) => consumerLoop(program, call)),
  ];
  return loops.sort((a, b) => a.line - b.line).slice(0, MAX_LOOPS);
}

const isZero = (tree: SourceTree, call: SyntaxNode) => /^\(0(?:\.0*)?\)$/.test(tree.text(call.lastChild!));

interface Contents {
  readonly leaves: number;
  readonly yields: number;
  readonly awaits: number;
  /** `await` of something that is ready. */
  readonly emptyAwaits: number;
}

/** The statements in a node that can leave it, without those of functions in it. */
function contentsOf({ tree, hasTimers }: ParsedProgram, body: SyntaxNode): Contents {
  const leaves = tree.all(LEAVING, body, SCOPES).filter((node) => {
    if (node.name === 'CallExpression') return LEAVING_CALLS.has(tree.calledName(node));
    return node.name !== 'BreakStatement' || ![...until(node, body)].some(({ name }) => LOOPS.has(name));
  });
  const awaits = tree.all(AWAITING, body, SCOPES).map((node) => {
    const call = node.lastChild;
    return (
      !hasTimers && call?.name === 'CallExpression' && tree.calledName(call) === 'sleep' && isZero(tree, call)
    );
  });
  const empty = awaits.filter((isEmpty) => isEmpty).length;
  const yields = tree.all(set('yield'), body, SCOPES).length;
  return { leaves: leaves.length, yields, awaits: awaits.length - empty, emptyAwaits: empty };
}

/** The nodes around a node up to another one. */
function* until(node: SyntaxNode, end: SyntaxNode): Generator<SyntaxNode> {
  for (const around of ancestors(node)) {
    if (around.from <= end.from && around.to >= end.to) return;
    yield around;
  }
}

/** Whether code that contains a node handles its exceptions, or a caller of its function possibly does. */
function isInTry({ handlers, names }: ParsedProgram, node: SyntaxNode): boolean {
  const isAround = (handler: SyntaxNode) => {
    const body = childNamed(handler, 'Body')!;
    return body.from <= node.from && body.to >= node.to;
  };
  if (handlers.some(isAround)) return true;
  const isInFunction = [...ancestors(node)].some(({ name }) => name === 'FunctionDefinition');
  return isInFunction && names.raises && handlers.some(({ from, to }) => from < node.from || to > node.to);
}

const isAlwaysTrue = (tree: SourceTree, loop: SyntaxNode) =>
  loop.name === 'WhileStatement' && /^\(?(?:True|1)\)?$/.test(tree.text(children(loop)[1]!));

/** Notes the function around an endless loop, if all its `yield` are in the loop and nothing ends it. */
function addGenerator(program: ParsedProgram, loop: SyntaxNode): void {
  const { tree, names, generators } = program;
  const definition = loop.parent?.parent;
  if (!isAlwaysTrue(tree, loop) || definition?.name !== 'FunctionDefinition') return;
  const name = tree.text(childNamed(definition, 'VariableName')!);
  const body = childNamed(loop, 'Body')!;
  const { leaves, yields, awaits, emptyAwaits } = contentsOf(program, body);
  const all = contentsOf(program, childNamed(definition, 'Body')!).yields;
  // A yield outside of the loop can belong to another way through the function, on which it ends.
  if (
    yields > 0 &&
    yields === all &&
    leaves + awaits + emptyAwaits === 0 &&
    names.definition(name) !== undefined
  )
    generators.set(name, program.raises(body));
}

/** Whether an expression is an iterator that never ends. */
function isEndless(program: ParsedProgram, iterated: SyntaxNode | null | undefined): boolean {
  const { tree, names, generators } = program;
  if (iterated?.name !== 'CallExpression') return false;
  const callee = tree.text(iterated.firstChild!);
  const mayFail = generators.get(callee);
  if (mayFail !== undefined) return !(mayFail && isInTry(program, iterated));
  if (names.has(callee, 'definition')) return false;
  const name = callee.replace(/^itertools\./, '');
  const given = children(iterated.lastChild!).filter((part) => !/^[(),]$/.test(part.name));
  if (name === 'repeat') return given.length === 1;
  if (name === 'iter') return tree.line(iterated.lastChild!) === '(int, 1)';
  return name === 'count' || name === 'cycle';
}

function statementLoop(program: ParsedProgram, loop: SyntaxNode): SourceLoop[] {
  const { tree, canExit } = program;
  const parts = children(loop);
  const at = parts.findIndex(({ name }) => name === 'Body');
  const body = parts[at];
  if (body === undefined) return [];
  const isFor = loop.name === 'ForStatement';
  const inAt = parts.findIndex(({ name }) => name === 'in');
  const forAt = parts.findIndex(({ name }) => name === 'for');
  const iterated = isFor ? parts[inAt + 1] : undefined;
  const target = isFor ? tree.text({ from: parts[forAt + 1]!.from, to: parts[inAt - 1]!.to }) : '';
  const contents = contentsOf(program, body);
  const isLeft = contents.leaves + contents.yields + contents.awaits > 0;
  // Another function can end the program, or raise an exception that is handled outside of the loop.
  const isCaught = (canExit || isInTry(program, loop)) && program.raises(body);
  const range = iterated && (rangeOf(tree, target, iterated) ?? enumeratedRange(tree, target, iterated));
  const isInfinite = isFor
    ? contents.emptyAwaits === 0 && isEndless(program, iterated)
    : isAlwaysTrue(tree, loop);
  const line = tree.lineOf(loop.from);
  return [
    {
      line,
      lastLine: tree.lastLineOf(body),
      head: `${tree.line({ from: loop.from, to: body.from })}:`,
      condition: isFor ? '' : tree.line(parts[at - 1]!),
      items: iterated && !range ? { names: target, collection: tree.line(iterated) } : undefined,
      range: range && { name: range.name, bound: range.bound },
      start: range?.start,
      isInfinite: isInfinite && !isLeft && !isCaught,
      isAwaiting: contents.emptyAwaits > 0 && contents.awaits === 0,
      body: bodyFacts(tree, body, body),
    },
  ];
}

function expressionLoop(tree: SourceTree, { from, to }: SyntaxNode, more: Partial<SourceLoop>): SourceLoop[] {
  const line = tree.lineOf(from);
  const start = tree.offset(line, 1);
  const end = tree.code.indexOf('\n', start);
  const head = tree.line({ from: start, to: end < 0 ? tree.code.length : end });
  const lastLine = tree.lineOf(to);
  return [
    { line, lastLine, head, condition: '', isInfinite: true, isExpression: true, body: NO_BODY, ...more },
  ];
}

/** The function that an expression is an argument of. */
const consumerOf = (tree: SourceTree, node: SyntaxNode | null) =>
  node?.name === 'ArgList' ? tree.calledName(node.parent!) : '';

/** A comprehension over an endless iterator, or a search that ends when a counter meets a condition. */
function comprehensionLoop(program: ParsedProgram, word: SyntaxNode): SourceLoop[] {
  const { tree } = program;
  const around = word.parent!;
  if (LOOPS.has(around.name)) return [];
  const parts = children(around);
  const at = parts.findIndex(({ from }) => from === word.from);
  const inAt = parts.findIndex(({ name }, i) => i > at && name === 'in');
  const iterated = parts[inAt + 1];
  if (!isEndless(program, iterated)) return [];
  const outer = around.name === 'ComprehensionExpression' ? around.parent : around;
  const consumer = consumerOf(tree, outer);
  if (consumer === 'next') return searchLoop(tree, around, parts.slice(inAt - 1));
  const isRead = EAGER.test(around.name) || CONSUMERS.has(consumer);
  if (!isRead || isLimited(tree, around)) return [];
  return expressionLoop(tree, around, { items: { names: '', collection: tree.line(iterated!) } });
}

/** `variable in count() if variable > 10`. */
function searchLoop(tree: SourceTree, node: SyntaxNode, parts: readonly SyntaxNode[]): SourceLoop[] {
  const [variable, , , word, test] = parts;
  if (word?.name !== 'if' || test?.name !== 'BinaryExpression') return [];
  const [left, operator, bound] = children(test).map((part) => tree.text(part));
  if (left !== tree.text(variable!) || OPPOSITE[operator!] === undefined) return [];
  const condition = `${left} ${OPPOSITE[operator!]} ${bound}`;
  return expressionLoop(tree, node, { condition, isInfinite: false });
}

/** A function that reads an endless iterator, as in `sum(count())`. */
function consumerLoop(program: ParsedProgram, call: SyntaxNode): SourceLoop[] {
  const { tree } = program;
  const iterated = call.lastChild?.firstChild?.nextSibling;
  if (!CONSUMERS.has(tree.calledName(call)) || !isEndless(program, iterated) || isLimited(tree, call))
    return [];
  if (tree.text(call.lastChild!).includes('maxlen')) return [];
  return expressionLoop(tree, call, { items: { names: '', collection: tree.line(iterated!) } });
}

/** Whether a function around an expression can stop before its iterator ends. */
function isLimited(tree: SourceTree, node: SyntaxNode): boolean {
  for (const around of ancestors(node)) {
    if (around.name.endsWith('Statement')) return false;
    if (around.name === 'CallExpression' && PARTIAL.has(tree.calledName(around))) return true;
  }
  return false;
}

interface CountedRange {
  readonly name: string;
  readonly start: string;
  readonly bound: string;
}

/** The arguments of a call to a function, without names. */
function argumentsOf(tree: SourceTree, call: SyntaxNode, name: string): string[] | undefined {
  if (call.name !== 'CallExpression' || tree.text(call.firstChild!) !== name) return undefined;
  return tree
    .line(call.lastChild!)
    .slice(1, -1)
    .split(/,(?![^()]*\))/)
    .map((one) => one.trim());
}

/** The index in `for i, item in enumerate(items)`. */
function enumeratedRange(tree: SourceTree, target: string, iterated: SyntaxNode): CountedRange | undefined {
  const [items, start = '0'] = argumentsOf(tree, iterated, 'enumerate') ?? [];
  const name = /^\(?([A-Za-z_]\w*)\s*,/.exec(target)?.[1];
  if (items === undefined || name === undefined || !/^[A-Za-z_]\w*$/.test(items)) return undefined;
  const first = start.replace(/^start\s*=\s*/, '');
  return /^[01]$/.test(first) ? { name, start: first, bound: `len(${items})` } : undefined;
}

/** The first value and the exclusive bound of `range(bound)`, `range(start, bound)` or `range(start, bound, step)`. */
function rangeOf(tree: SourceTree, name: string, iterated: SyntaxNode): CountedRange | undefined {
  const [first, second, step] = argumentsOf(tree, iterated, 'range') ?? [];
  if (first === undefined || step?.includes('-')) return undefined;
  const bound = second ?? first;
  return /^[^()]+(?:\([\w.]*\))?$/.test(bound)
    ? { name, start: second === undefined ? '0' : first, bound }
    : undefined;
}
