/**
 * Finds the loops and functions of a JavaScript program in its syntax tree, and the calls around the position of an error.
 * QuickJS reports the position of the last name that it read before a call: that of the function or of an argument.
 */
import type { SyntaxNode } from '@lezer/common';
import type { CalledExpression, SourceFacts, SourceLoop } from '../../../analysis/program-facts.ts';
import type { GuestError, LanguageName } from '../../../schema.ts';
import { bodyFacts, functionFacts, NO_BODY } from '../../syntax/source-facts.ts';
import { ancestors, children, SourceTree } from '../../syntax/source-tree.ts';

const MAX_LOOPS = 200;
const MAX_FUNCTIONS = 300;
const MAX_CALLS = 20;
const set = (names: string): ReadonlySet<string> => new Set(names.split(' '));
const LOOPS = set('ForStatement WhileStatement DoStatement');
const FUNCTIONS = set('FunctionDeclaration FunctionExpression ArrowFunction MethodDeclaration');
const NAMED = set('FunctionDeclaration MethodDeclaration VariableDeclaration');
/** What leaves a loop, or lets other code run that may end the program. */
const LEAVING = set(
  'BreakStatement ContinueStatement ReturnStatement ThrowStatement yield AwaitExpression VariableName PropertyName',
);
const BREAKABLE = set('ForStatement WhileStatement DoStatement SwitchStatement');
const RISKY = set('CallExpression NewExpression MemberExpression');
/** Objects whose methods throw no exception that a program handles. */
const HARMLESS = set('console Math');
const TIMERS = /^(?:setTimeout|setImmediate|queueMicrotask)$/;
const LITERALS: Readonly<Record<string, CalledExpression['ownerLiteral']>> = {
  ArrayExpression: 'array',
  String: 'text',
  TemplateString: 'text',
  Number: 'number',
  RegExp: 'regex',
};

/** The message for calling a value that is not a function. */
export const NOT_CALLABLE = /(?:^|\s)not a function$/;

/** With the position of an error, the calls around it are included. */
export const readJavaScript = (
  code: string,
  language: LanguageName,
  error?: GuestError,
): SourceFacts | undefined =>
  SourceTree.read(['javascript', language === 'typescript' ? 'ts' : ''], code, (tree) => ({
    loops: loopsOf(tree),
    functions: functionsOf(tree),
    calls: error === undefined ? [] : callsAt(tree, error),
  }));

const childNamed = (node: SyntaxNode, ...names: string[]) =>
  children(node).find(({ name }) => names.includes(name));

function functionsOf(tree: SourceTree) {
  return tree
    .all(NAMED)
    .slice(0, MAX_FUNCTIONS)
    .flatMap((node) => {
      const name = childNamed(node, 'VariableDefinition', 'PropertyDefinition');
      const value =
        node.name === 'VariableDeclaration' ? childNamed(node, 'ArrowFunction', 'FunctionExpression') : node;
      const body = value?.lastChild;
      if (name === undefined || value === undefined || !body) return [];
      const parameters = childNamed(value, 'ParamList') ?? null;
      return [functionFacts(tree, { name: tree.text(name), node, parameters, body })];
    });
}

// ---- loops ----

interface ParsedProgram {
  readonly tree: SourceTree;
  readonly names: ReadonlySet<string>;
  /** The program throws exceptions and handles some, not necessarily in the same function. */
  readonly isThrown: boolean;
  /** Generators that never end, and whether they can throw. */
  readonly generators: Map<string, boolean>;
}

function loopsOf(tree: SourceTree): SourceLoop[] {
  const isThrown = tree.all(set('throw')).length > 0 && tree.all(set('try')).length > 0;
  const names = new Set(tree.all(set('VariableName PropertyName')).map((node) => tree.text(node)));
  const program: ParsedProgram = { tree, names, isThrown, generators: new Map() };
  for (const node of tree.all(set('FunctionDeclaration'))) addGenerator(program, node);
  const loops = [
    ...tree
      .all(LOOPS)
      .slice(0, MAX_LOOPS)
      .flatMap((loop) => statementLoop(program, loop)),
    ...(program.generators.size === 0 ? [] : tree.all(set('CallExpression'))).flatMap((call) =>
      expressionLoop(program, call),
    ),
  ];
  return loops.sort((a, b) => a.line - b.line).slice(0, MAX_LOOPS);
}

const isFunction = ({ name }: SyntaxNode) => FUNCTIONS.has(name);

/** The nodes in a loop that leave it, without those of functions in it. */
function exits({ tree, names }: ParsedProgram, body: SyntaxNode): SyntaxNode[] {
  const canExit = names.has('exit') || names.has('AbortController');
  return tree.all(LEAVING, body, FUNCTIONS).filter((node) => {
    if (node.name === 'AwaitExpression') return canExit || !isReady(tree, node.lastChild!);
    if (node.name.endsWith('Name')) return tree.text(node) === 'exit';
    if (childNamed(node, 'Label') !== undefined) return true;
    if (node.name === 'ContinueStatement') return false;
    if (node.name !== 'BreakStatement') return true;
    for (const around of ancestors(node)) {
      if (around.from <= body.from && around.to >= body.to) return true;
      if (BREAKABLE.has(around.name)) return false;
    }
    return true;
  });
}

/** Awaiting a constant, or a timer as in `new Promise((resolve) => setTimeout(resolve, 0))`, does not end a program. */
function isReady(tree: SourceTree, awaited: SyntaxNode): boolean {
  if (/^(?:null|BooleanLiteral|Number)$/.test(awaited.name) || tree.text(awaited) === 'undefined')
    return true;
  if (awaited.name === 'CallExpression') return /^Promise\.resolve\([\w$]*\)$/.test(tree.text(awaited));
  if (awaited.name !== 'NewExpression' || !/^new Promise\b/.test(tree.text(awaited))) return false;
  const callback = awaited.lastChild && childNamed(awaited.lastChild, 'ArrowFunction');
  const parameters = callback && childNamed(callback, 'ParamList');
  if (!callback || tree.text(parameters!).includes(',')) return false;
  return tree.all(set('CallExpression'), callback).some((call) => TIMERS.test(tree.calledName(call)));
}

/** Whether code has a call, or the property of an item, which can be undefined. */
function mayThrow(tree: SourceTree, body: SyntaxNode): boolean {
  return tree.all(RISKY, body).some((node) => {
    const first = node.firstChild!;
    if (node.name === 'MemberExpression')
      return first.lastChild?.name === ']' && node.lastChild?.name === 'PropertyName';
    return !(first.name === 'MemberExpression' && HARMLESS.has(tree.text(first.firstChild!)));
  });
}

function isInTry({ isThrown }: ParsedProgram, node: SyntaxNode): boolean {
  for (const around of ancestors(node)) {
    if (isThrown && isFunction(around)) return true;
    const body = around.name === 'TryStatement' ? childNamed(around, 'Block') : undefined;
    if (body !== undefined && body.from <= node.from && body.to >= node.to) return true;
  }
  return false;
}

/** The parts of the head of a loop. */
interface Head extends Pick<SourceLoop, 'condition' | 'items' | 'start'> {
  readonly isConstant: boolean;
  readonly text: string;
  readonly collection?: SyntaxNode | undefined;
}

function headOf(tree: SourceTree, loop: SyntaxNode): Head | undefined {
  const spec = childNamed(loop, 'ParenthesizedExpression', 'ForSpec', 'ForOfSpec', 'ForInSpec');
  if (spec === undefined) return undefined;
  const text = tree.line({ from: loop.name === 'DoStatement' ? spec.from : loop.from, to: spec.to });
  const shown = loop.name === 'DoStatement' ? `do … while ${text}` : text;
  if (spec.name === 'ParenthesizedExpression') {
    const condition = tree.line(spec).slice(1, -1).trim();
    return { condition, text: shown, isConstant: condition === 'true' || condition === '1' };
  }
  const parts = children(spec);
  if (spec.name === 'ForSpec') return { text: shown, ...counterOf(tree, parts) };
  const at = parts.findIndex(({ name }) => name === 'of' || name === 'in');
  const collection = parts[at + 1];
  const names = tree.text({ from: parts[1]!.from, to: parts[at]!.from }).trim();
  const items = {
    names: names.replace(/^(?:const|let|var)\s+/, ''),
    collection: collection === undefined ? '' : tree.line(collection),
  };
  return { condition: '', items, text: shown, isConstant: false, collection };
}

/** The condition and the first value of `(let i = 0; i < n; i++)`. */
function counterOf(tree: SourceTree, parts: readonly SyntaxNode[]) {
  // A declaration contains its semicolon.
  const first = parts[1]!;
  const after = first.name === 'VariableDeclaration' ? 2 : parts.findIndex(({ name }) => name === ';') + 1;
  const second = parts[after];
  const condition = second === undefined || /^[;)]$/.test(second.name) ? '' : tree.line(second);
  const step = parts.at(-2)?.name === ';' ? undefined : parts.at(-2);
  const name = /^(?:\+\+)?([\w$]+)\s*(?:\+\+|\+=|$)/.exec(step ? tree.text(step) : '')?.[1];
  const declared = children(first).findIndex((part) => tree.text(part) === name);
  const value = children(first)[declared + 2];
  const start = name === undefined || declared < 0 || value === undefined ? undefined : tree.line(value);
  return { condition, start, isConstant: condition === '' || condition === 'true' || condition === '1' };
}

function statementLoop(program: ParsedProgram, loop: SyntaxNode): SourceLoop[] {
  const { tree, names } = program;
  const head = headOf(tree, loop);
  const body = loop.name === 'DoStatement' ? childNamed(loop, 'Block') : loop.lastChild;
  if (head === undefined || !body) return [];
  const isEndless =
    head.isConstant || (head.collection !== undefined && isEndlessCall(program, head.collection));
  const isEnded = isEndless && (names.has('exit') || isInTry(program, loop)) && mayThrow(tree, body);
  return [
    {
      line: tree.lineOf(loop.from),
      lastLine: tree.lastLineOf(loop),
      head: head.text,
      condition: head.condition,
      items: head.items,
      start: head.start,
      isInfinite: isEndless && !isEnded && exits(program, body).length === 0,
      body: bodyFacts(tree, loop, body),
    },
  ];
}

/**
 * Notes a generator function that only consists of a loop that never ends and the statements before it. A loop under a
 * condition, or a `yield` outside of the loop, can belong to a function that ends.
 */
function addGenerator(program: ParsedProgram, node: SyntaxNode): void {
  const { tree, generators } = program;
  const [name, block] = [childNamed(node, 'VariableDefinition'), childNamed(node, 'Block')];
  if (childNamed(node, 'Star') === undefined || name === undefined || block === undefined) return;
  const yields = (within: SyntaxNode) => tree.all(set('yield'), within, FUNCTIONS).length;
  const loop = children(block).find((one) => LOOPS.has(one.name) && headOf(tree, one)?.isConstant);
  if (loop === undefined || yields(loop) === 0 || yields(loop) !== yields(block)) return;
  if (exits(program, block).every((exit) => exit.name === 'yield'))
    generators.set(tree.text(name), mayThrow(tree, loop));
}

function isEndlessCall(program: ParsedProgram, call: SyntaxNode): boolean {
  if (call.name !== 'CallExpression') return false;
  const mayFail = program.generators.get(program.tree.text(call.firstChild!));
  return mayFail !== undefined && !(mayFail && isInTry(program, call));
}

/** A generator that is read up to its end, as in `[...numbers()]` or `Array.from(numbers())`. */
function expressionLoop(program: ParsedProgram, call: SyntaxNode): SourceLoop[] {
  const { tree } = program;
  if (!isEndlessCall(program, call)) return [];
  const around = call.parent!;
  const isArgument = around.name === 'ArgList' && tree.text(around.parent!.firstChild!) === 'Array.from';
  if (call.prevSibling?.name !== 'Spread' && !isArgument) return [];
  const line = tree.lineOf(call.from);
  const start = tree.offset(line, 1);
  const end = tree.code.indexOf('\n', start);
  const head = tree.line({ from: start, to: end < 0 ? tree.code.length : end });
  const items = { names: '', collection: tree.line(call) };
  return [
    { line, lastLine: line, head, condition: '', items, isInfinite: true, isExpression: true, body: NO_BODY },
  ];
}

// ---- calls ----

function callsAt(tree: SourceTree, { line, column, file }: GuestError): CalledExpression[] {
  if (typeof line !== 'number' || typeof column !== 'number' || file != null) return [];
  const at = tree.offset(line, column);
  let inner = tree.top.resolve(at, 1);
  // On the first line, the columns of called names are one too small.
  if (line === 1 && (inner.from !== at || !/Name$|^(?:String|Number|RegExp)$/.test(inner.name)))
    inner = tree.top.resolve(at + 1, 1);
  const found: CalledExpression[] = [];
  for (const around of ancestors(inner)) {
    const isInBody = isFunction(around) && around.lastChild!.from <= inner.from;
    if (isInBody || found.length === MAX_CALLS) break;
    if (around.name === 'CallExpression') found.push(describe(tree, around.firstChild!));
  }
  return found;
}

function describe(tree: SourceTree, callee: SyntaxNode): CalledExpression {
  const isMember = callee.name === 'MemberExpression';
  const last = isMember ? callee.lastChild! : callee;
  const name = /^(?:VariableName|PropertyName|PrivatePropertyName)$/.test(last.name)
    ? tree.text(last)
    : undefined;
  const owner = isMember && name !== undefined ? callee.firstChild! : undefined;
  return {
    callee: tree.text(callee),
    name,
    owner: owner && tree.text(owner),
    ownerLiteral: owner && LITERALS[owner.name],
    isDeclared: owner === undefined && name !== undefined && declaresFunction(tree, name),
  };
}

/** Whether the program declares a function or a class with this name. */
function declaresFunction(tree: SourceTree, name: string): boolean {
  return tree.all(set('VariableDefinition')).some((node) => {
    if (tree.text(node) !== name) return false;
    if (/^(?:Function|Class)/.test(node.parent!.name)) return true;
    const value = node.nextSibling?.name === 'Equals' ? node.nextSibling.nextSibling : null;
    return value !== null && /^(?:ArrowFunction|FunctionExpression|ClassExpression)$/.test(value.name);
  });
}
