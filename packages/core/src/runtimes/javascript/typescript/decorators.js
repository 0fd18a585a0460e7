/**
 * Rewrites classes with decorators to expressions that apply them. Lines keep their numbers. The rewritten text still
 * contains types.
 */
import { IdentifierRole } from 'sucrase/dist/esm/parser/tokenizer/index.js';
import { ContextualKeyword } from 'sucrase/dist/esm/parser/tokenizer/keywords.js';
import { TokenType } from 'sucrase/dist/esm/parser/tokenizer/types.js';
import { createDecorators } from './decorator-runtime.js';
import { applyEdits, lineEnds, parse, SourceError } from './parse.js';

const RUNTIME = `(${createDecorators.toString().replace(/\s*\n\s*/g, ' ')})()`;

/** Each class contains the text above. */
const MAX_CLASSES = 500;

/** The index after the bracket that closes the one at `i`. */
function afterBracket(tokens, i) {
  let depth = 0;
  for (let at = i; at < tokens.length; at++) {
    const { type } = tokens[at];
    if (type === TokenType.parenL || type === TokenType.bracketL || type === TokenType.braceL) depth++;
    else if (type === TokenType.dollarBraceL) depth++;
    else if (type === TokenType.parenR || type === TokenType.bracketR || type === TokenType.braceR) depth--;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

/** The index after the decorator at `i`: `@a.b`, `@a.b(…)` or `@(…)`. */
function afterDecorator(tokens, i) {
  let at = i + 1;
  if (tokens[at].type === TokenType.parenL) return afterBracket(tokens, at);
  at++;
  while (tokens[at].type === TokenType.dot) at += 2;
  while (tokens[at].isType) at++;
  return tokens[at].type === TokenType.parenL ? afterBracket(tokens, at) : at;
}

/** Tokens that can follow the name of a member. Before others, a word is a modifier. */
const AFTER_NAME = new Set([
  TokenType.parenL,
  TokenType.eq,
  TokenType.semi,
  TokenType.braceR,
  TokenType.bang,
  TokenType.question,
  TokenType.at,
]);

/** Finds decorated classes and members, and collects the edits that rewrite them. */
class DecoratorRewriter {
  constructor(code, tokens) {
    this.code = code;
    this.tokens = tokens;
    this.edits = [];
    /** By index of the token `class`: the decorators of the class, and its decorated members. */
    this.classes = new Map();
    /** The braces of all classes, by the number that the parser gave the class. */
    this.braces = new Map();
  }

  refuse(i, message) {
    throw new SourceError(message, this.code, this.tokens[i].start, true);
  }

  text(from, to) {
    return this.code.slice(this.tokens[from].start, this.tokens[to - 1].end);
  }

  insert(at, text) {
    this.edits.push({ start: at, end: at, text });
  }

  remove(from, to) {
    const [start, end] = [this.tokens[from].start, this.tokens[to - 1].end];
    this.edits.push({ start, end, text: lineEnds(this.code.slice(start, end)) });
  }

  classAt(i) {
    if (this.classes.size >= MAX_CLASSES) this.refuse(i, `more than ${MAX_CLASSES} classes with decorators`);
    if (!this.classes.has(i)) this.classes.set(i, { decorators: [], members: [] });
    return this.classes.get(i);
  }

  rewrite() {
    const open = [];
    for (let i = 0; i < this.tokens.length; i++) {
      const token = this.tokens[i];
      if (token.type === TokenType._class) open.push(i);
      const innermost = this.tokens[open.at(-1)];
      if (token.type === TokenType.braceL && token.contextId !== null && !this.braces.has(token.contextId))
        this.braces.set(token.contextId, { open: i });
      if (
        token.type === TokenType.braceR &&
        token.contextId !== null &&
        token.contextId === innermost?.contextId
      ) {
        this.braces.get(token.contextId).close = i;
        open.pop();
      }
      if (token.type === TokenType.at) i = this.readDecorators(i, open.at(-1)) - 1;
    }
    for (const [i, found] of this.classes) this.rewriteClass(i, found);
    return applyEdits(this.code, this.edits);
  }

  /** Reads the decorators from `first` on, which belong to a class or to a member of the class at `outer`. */
  readDecorators(first, outer) {
    const { tokens } = this;
    const decorators = [];
    let at = first;
    while (tokens[at].type === TokenType.at) {
      const end = afterDecorator(tokens, at);
      decorators.push(this.text(at + 1, end));
      at = end;
    }
    this.remove(first, at);
    let next = at;
    while ([TokenType._export, TokenType._default, TokenType._abstract].includes(tokens[next].type)) next++;
    if (tokens[next].type === TokenType._class) this.classAt(next).decorators = decorators;
    else if (outer === undefined) this.refuse(first, 'only classes and their members can have decorators');
    else this.classAt(outer).members.push(this.readMember(at, outer, decorators));
    return at;
  }

  /** Whether token `i` is the name of a member of the class. The parser also marks `get` and `async` before names. */
  isName(i, contextId) {
    const [token, next] = [this.tokens[i], this.tokens[i + 1]];
    if (token.identifierRole !== IdentifierRole.ObjectKey || token.contextId !== contextId) return false;
    return (
      AFTER_NAME.has(next.type) || next.isType || lineEnds(this.code.slice(token.end, next.start)).length > 0
    );
  }

  readMember(from, outer, decorators) {
    const { tokens } = this;
    let key = from;
    const isSearching = ({ type }) => type !== TokenType.bracketL && type !== TokenType.eof;
    while (isSearching(tokens[key]) && !this.isName(key, tokens[outer].contextId)) key++;
    const words = tokens.slice(from, key);
    const has = (word) => words.some(({ contextualKeyword }) => contextualKeyword === word);
    if (!isSearching(tokens[key]) || tokens[key - 1].type === TokenType.hash)
      this.refuse(from, 'decorators of private members and of computed names are not supported');
    if (has(ContextualKeyword._accessor)) this.refuse(from, 'the keyword accessor is not supported');
    const isStatic = words.some(({ type }) => type === TokenType._static);
    const name = this.text(key, key + 1);
    const member = { name: /^['"\d]/.test(name) ? name : JSON.stringify(name), isStatic, decorators };
    if (has(ContextualKeyword._get)) return { ...member, kind: 'getter' };
    if (has(ContextualKeyword._set)) return { ...member, kind: 'setter' };
    let last = key;
    while (tokens[last + 1].isType || [TokenType.bang, TokenType.question].includes(tokens[last + 1].type))
      last++;
    if (tokens[last + 1].type === TokenType.parenL) return { ...member, kind: 'method' };
    return this.rewriteField({ ...member, kind: 'field', key: JSON.stringify(`${isStatic}:${name}`) }, last);
  }

  /** Lets the initializers of decorators change the first value of a field, whose name and type end with token `last`. */
  rewriteField(member, last) {
    const { tokens } = this;
    const equals = tokens[last + 1];
    if (equals.type !== TokenType.eq) this.insert(tokens[last].end, `=$.init(this,${member.key})`);
    else {
      this.insert(equals.end, `$.init(this,${member.key},(`);
      this.insert(tokens[equals.rhsEndIndex - 1].end, '))');
    }
    return member;
  }

  rewriteClass(i, { decorators, members }) {
    const { code, tokens } = this;
    const { contextId, isExpression } = tokens[i];
    const isNamed = tokens[i + 1].type === TokenType.name && !tokens[i + 1].isType;
    const name = isNamed ? code.slice(tokens[i + 1].start, tokens[i + 1].end) : '$class';
    const { open, close } = this.braces.get(contextId);
    const isAbstract = tokens[i - 1]?.type === TokenType._abstract;
    const start = isAbstract ? i - 1 : i;
    const isDefault = tokens[start - 1]?.type === TokenType._default;
    const isDeclaration = !isExpression && isNamed;
    if (isDefault && isDeclaration) this.remove(start - 2, start);
    const list = members.map(
      (one) =>
        `{kind:"${one.kind}",name:${one.name},key:${one.key},isStatic:${one.isStatic},decorators:[${one.decorators}]}`,
    );
    let head = isNamed ? i + 1 : i;
    // The parser does not know type parameters of a class without a name.
    while (tokens[head + 1].isType) head++;
    this.edits.push({
      start: tokens[start].start,
      end: tokens[head].end,
      text: `${isDeclaration ? `let ${name}=` : ''}(($,${name})=>{const $list=[${decorators}];return ${name}=$.decorateClass($list,"${name}",class ${lineEnds(code.slice(tokens[start].start, tokens[head].end))}`,
    });
    const nameText = `Object.defineProperty(this,"name",{value:"${isNamed ? name : ''}",configurable:true});`;
    this.insert(
      tokens[open].end,
      `static{${name}=this;${nameText}$.members(this,[${list}])}#$=$.begin(this);`,
    );
    const after = `)})(${RUNTIME})${isDeclaration ? ';' : ''}`;
    this.insert(tokens[close].end, isDefault && isDeclaration ? `${after}export default ${name};` : after);
  }
}

/** The program without decorators. */
export function rewriteDecorators(code, pay) {
  if (!code.includes('@')) return code;
  const { tokens } = parse(code, pay);
  if (!tokens.some(({ type }) => type === TokenType.at)) return code;
  return new DecoratorRewriter(code, tokens).rewrite();
}
