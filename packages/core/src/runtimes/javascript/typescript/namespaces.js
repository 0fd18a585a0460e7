/**
 * Rewrites namespaces with values to functions that fill an object, as the TypeScript compiler does. Lines keep their
 * numbers. The rewritten text still contains types.
 */
import { isTopLevelDeclaration } from 'sucrase/dist/esm/parser/tokenizer/index.js';
import { ContextualKeyword } from 'sucrase/dist/esm/parser/tokenizer/keywords.js';
import { TokenType } from 'sucrase/dist/esm/parser/tokenizer/types.js';
import { applyEdits, lineEnds, parse, SourceError } from './parse.js';

const VALUE_TOKENS = new Set([
  TokenType._const,
  TokenType._let,
  TokenType._var,
  TokenType._function,
  TokenType._class,
  TokenType._enum,
]);

const isNamespaceWord = ({ contextualKeyword }) =>
  contextualKeyword === ContextualKeyword._namespace || contextualKeyword === ContextualKeyword._module;

/**
 * The namespace whose keyword is token `i`, or undefined if it has no block: the indices of the first and last token of its
 * name and of its braces. `hasValues` is false if the block contains only types.
 */
function readNamespace(tokens, i) {
  let at = i + 1;
  if (tokens[at]?.type !== TokenType.name) return undefined;
  while (tokens[at]?.type === TokenType.name || tokens[at]?.type === TokenType.dot) at++;
  if (tokens[at]?.type !== TokenType.braceL) return undefined;
  const open = at;
  let hasValues = false;
  for (let depth = 0; at < tokens.length; at++) {
    const { type } = tokens[at];
    if (type === TokenType.braceL || type === TokenType.dollarBraceL) depth++;
    else if (type === TokenType.braceR && --depth === 0)
      return { name: [i + 1, open - 1], open, close: at, hasValues };
    else if (isStatement(tokens, at) && !isAmbient(tokens, at)) hasValues = true;
  }
  return undefined;
}

/** Whether the token can start or is part of a statement that has an effect when the program runs. */
const isStatement = (tokens, at) =>
  VALUE_TOKENS.has(tokens[at].type) ||
  tokens[at].type === TokenType.parenL ||
  tokens[at].type === TokenType.eq;

const isAmbient = (tokens, at) => tokens[at - 1]?.contextualKeyword === ContextualKeyword._declare;

/** The outermost namespaces with values that are not ambient. */
function* namespaces(tokens) {
  for (let i = 0; i < tokens.length; i++) {
    // The parser marks the whole of a namespace as a type.
    if (!tokens[i].isType || tokens[i - 1]?.isType) continue;
    let last = i;
    while (tokens[last + 1]?.isType) last++;
    const isDeclared = tokens[i].contextualKeyword === ContextualKeyword._declare;
    for (let at = i; at <= last && !isDeclared; at++) {
      const found = isNamespaceWord(tokens[at]) ? readNamespace(tokens, at) : undefined;
      if (found === undefined) continue;
      if (found.hasValues && !isAmbient(tokens, at)) yield { ...found, start: at };
      at = found.close;
    }
    i = last;
  }
}

const nameOf = (code, { start, end }) => code.slice(start, end);

/** The names that the block exports, by whether programs can assign to them. */
function exportedNames(code, tokens) {
  const names = new Map();
  tokens.forEach((token, i) => {
    if (token.type !== TokenType._export || token.scopeDepth > 0) return;
    const isVariable = [TokenType._let, TokenType._var].includes(tokens[i + 1]?.type);
    const next = tokens[i + 1];
    if (next?.type === TokenType.braceL || next?.type === TokenType._default || token.rhsEndIndex === null)
      throw new SourceError('a namespace can export only declarations', code, token.start, true);
    for (let at = i + 1; at < token.rhsEndIndex; at++)
      if (tokens[at].type === TokenType.name && isTopLevelDeclaration(tokens[at]) && !tokens[at].isType)
        names.set(nameOf(code, tokens[at]), isVariable);
  });
  return names;
}

/** The body of a function that fills the object `name`. */
function rewriteBlock(block, name, pay) {
  const code = rewriteNamespaces(block, pay);
  const { tokens } = parse(code, pay);
  const names = exportedNames(code, tokens);
  const words = tokens.filter(({ type, scopeDepth }) => type === TokenType._export && scopeDepth === 0);
  const body = applyEdits(
    code,
    words.map(({ start, end }) => ({ start, end, text: '' })),
  );
  const properties = (text) => [...names].map(text).join();
  const define = (list) => (list === '' ? '' : `Object.defineProperties(${name},{${list}});`);
  // Code in the block sees its exports through the object at any time; afterwards, constants are plain properties.
  const setter = (one) => `set:(value)=>{${one}=value},`;
  const before = properties(
    ([one, isVariable]) =>
      `${one}:{get:()=>${one},${isVariable ? setter(one) : ''}enumerable:true,configurable:true}`,
  );
  const after = properties(([one, isVariable]) =>
    isVariable ? `${one}:{}` : `${one}:{value:${one},writable:true}`,
  );
  return `${define(before)}${body};${define(after)}`;
}

const classNames = (code, tokens) =>
  new Set(tokens.flatMap(({ type }, i) => (type === TokenType._class ? [nameOf(code, tokens[i + 1])] : [])));

/** `namespace A.B { … }` is `namespace A { export namespace B { … } }`. */
function rewriteNamespace({ code, tokens, classes }, { name: [first, last], open, close }, pay) {
  const names = [];
  for (let at = first; at <= last; at += 2) names.push(nameOf(code, tokens[at]));
  const block = code.slice(tokens[open].end, tokens[close].start);
  const inner = names.at(-1);
  let text = `(function(${inner}){${rewriteBlock(block, inner, pay)}})`;
  for (let at = names.length - 1; at > 0; at--) {
    const [outer, name] = [names[at - 1], names[at]];
    text = `(function(${outer}){${text}(${outer}.${name}||(${outer}.${name}={}))})`;
  }
  const [name] = names;
  const declaration = classes.has(name) ? '' : `var ${name};`;
  return `${lineEnds(code.slice(tokens[first].start, tokens[open].start))}${declaration}${text}(${name}||(${name}={}));`;
}

/** The program without namespaces that have values. */
export function rewriteNamespaces(code, pay) {
  if (!/\b(?:namespace|module)\b/.test(code)) return code;
  const { tokens } = parse(code, pay);
  const program = { code, tokens, classes: classNames(code, tokens) };
  const edits = [...namespaces(tokens)].map((found) => ({
    start: tokens[found.start].start,
    end: tokens[found.close].end,
    text: rewriteNamespace(program, found, pay),
  }));
  return applyEdits(code, edits);
}
