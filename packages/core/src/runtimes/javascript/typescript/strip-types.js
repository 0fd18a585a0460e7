/**
 * Removes the types from TypeScript. The tokens of the program keep their lines and, unless an enum, a parameter property, a
 * namespace or a decorator precedes them on the same line, their columns: removed text is replaced with blanks. Types are not
 * checked.
 */
import { HelperManager } from 'sucrase/dist/esm/HelperManager.js';
import identifyShadowedGlobals from 'sucrase/dist/esm/identifyShadowedGlobals.js';
import NameManager from 'sucrase/dist/esm/NameManager.js';
import { isNonTopLevelDeclaration } from 'sucrase/dist/esm/parser/tokenizer/index.js';
import { ContextualKeyword } from 'sucrase/dist/esm/parser/tokenizer/keywords.js';
import { TokenType } from 'sucrase/dist/esm/parser/tokenizer/types.js';
import TokenProcessor from 'sucrase/dist/esm/TokenProcessor.js';
import RootTransformer from 'sucrase/dist/esm/transformers/RootTransformer.js';
import TypeScriptTransformer from 'sucrase/dist/esm/transformers/TypeScriptTransformer.js';
import { getNonTypeIdentifiers } from 'sucrase/dist/esm/util/getNonTypeIdentifiers.js';
import getTSImportedNames from 'sucrase/dist/esm/util/getTSImportedNames.js';
import { rewriteDecorators } from './decorators.js';
import { rewriteNamespaces } from './namespaces.js';
import { parse, payInSteps, SourceError } from './parse.js';

/** Keywords that start a declaration which is removed as a whole. */
const DECLARATION_WORDS = new Set([
  ContextualKeyword._declare,
  ContextualKeyword._global,
  ContextualKeyword._interface,
  ContextualKeyword._module,
  ContextualKeyword._namespace,
  ContextualKeyword._type,
]);

/** Only numbers have a reverse mapping, which the value of a computed member shows when the program runs. */
function useComputedMembers(transformer, tokens, root) {
  transformer.processExplicitValueEnumMember = (enumName, key, variable) => {
    const end = tokens.currentToken().rhsEndIndex;
    const member = `${enumName}[${key}]`;
    tokens.appendCode(variable === null ? member : `const ${variable}`);
    tokens.copyToken();
    while (tokens.currentIndex() < end) root.processToken();
    if (variable !== null) tokens.appendCode(`; ${member} = ${variable}`);
    tokens.appendCode(`; if (typeof ${member} === "number") ${enumName}[${member}] = ${key};`);
  };
}

/** Declares parameter properties as fields, which determines the order of the properties of an instance. */
function declareParameterProperties(tokens, root) {
  root.processClassBody = (info, name) => {
    const fields = info.constructorInitializerStatements.map((text) => /^this\.([^ ]+) = /.exec(text)[1]);
    if (fields.length > 0) {
      tokens.copyExpectedToken = (type) => {
        delete tokens.copyExpectedToken;
        tokens.copyExpectedToken(type);
        tokens.appendCode(`${fields.join(';')};`);
      };
    }
    RootTransformer.prototype.processClassBody.call(root, info, name);
  };
}

const MOVED_PARENTHESIS = ') =>';

/** Inserts blanks before tokens, so that each is in the column of the source. Removed declarations become a semicolon. */
function align(source, output, mappings, tokens) {
  const parts = [];
  let done = 0;
  let column = 0;
  let lineStart = 0;
  let nextBreak = source.indexOf('\n');
  const append = (part) => {
    const at = part.lastIndexOf('\n');
    column = at < 0 ? column + part.length : part.length - at - 1;
    parts.push(part);
  };
  for (const [i, token] of tokens.entries()) {
    const at = mappings[i];
    if (at === undefined || at < done) continue;
    append(output.slice(done, at));
    done = at;
    while (nextBreak >= 0 && nextBreak < token.start) {
      lineStart = nextBreak + 1;
      nextBreak = source.indexOf('\n', lineStart);
    }
    // The parenthesis before a removed return type is moved to the arrow.
    const moved = token.type === TokenType.arrow && output.startsWith(MOVED_PARENTHESIS, at) ? 2 : 0;
    const missing = token.start - lineStart - column - moved;
    if (missing > 0 && token.type !== TokenType.template) append(' '.repeat(missing));
    if (isRemovedDeclaration(source, tokens, i)) append(';');
  }
  parts.push(output.slice(done));
  return parts.join('');
}

const STATEMENT_ENDS = new Set([TokenType.semi, TokenType.braceR, TokenType._export, TokenType._default]);

/** Whether a declaration that is removed starts here. Without it, the next line could continue the previous statement. */
function isRemovedDeclaration(source, tokens, i) {
  const token = tokens[i];
  if (!token.isType || !DECLARATION_WORDS.has(token.contextualKeyword)) return false;
  const before = tokens[i - 1];
  if (before === undefined) return true;
  // `type` in a list of imports is not a declaration.
  if (before.isType || before.type === TokenType.braceL || before.type === TokenType.comma) return false;
  return STATEMENT_ENDS.has(before.type) || source.slice(before.end, token.start).includes('\n');
}

/** Tokens that are copied or removed in the time in which one is parsed. */
const COPIED_TOKENS = 4;

/** Pays for every token that the transformation reads, copies or removes. */
function payForTokens(tokens, pay) {
  const step = payInSteps((count) => pay(count / COPIED_TOKENS));
  for (const name of [
    'nextToken',
    'replaceToken',
    'replaceTokenTrimmingLeftWhitespace',
    'copyToken',
    'copyTokenWithPrefix',
  ]) {
    tokens[name] = (...args) => {
      step();
      TokenProcessor.prototype[name].apply(tokens, args);
    };
  }
  // These serve transformations that are off, and the first one searches the rest of the expression.
  tokens.appendTokenPrefix = () => {};
  tokens.appendTokenSuffix = () => {};
}

/** Tokens that the search for local variables compares in the time in which one is parsed. */
const COMPARED_TOKENS = 50;

/** Marks the uses of local variables that have the name of an import. */
function markShadowedImports(processor, scopes, pay) {
  const imported = getTSImportedNames(processor);
  const isLocal = (token) =>
    isNonTopLevelDeclaration(token) && imported.has(processor.identifierNameForToken(token));
  const { tokens } = processor;
  const locals = tokens.filter(isLocal).length;
  if (locals === 0) return;
  pay((locals * tokens.length) / COMPARED_TOKENS);
  identifyShadowedGlobals(processor, scopes, imported);
}

/** Names that the program does not use. The library's own search starts from the first name each time. */
function nameFactory(code, tokens) {
  const names = new NameManager(code, tokens);
  let count = 0;
  names.claimFreeName = (name) => {
    let free;
    do free = `${name}${++count}`;
    while (names.usedNames.has(free));
    return free;
  };
  return names;
}

function transform(code, keepImports, pay) {
  const { tokens, scopes } = parse(code, pay);
  const options = { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: keepImports };
  const nameManager = nameFactory(code, tokens);
  const helperManager = new HelperManager(nameManager);
  const tokenProcessor = new TokenProcessor(code, tokens, false, true, helperManager);
  payForTokens(tokenProcessor, pay);
  markShadowedImports(tokenProcessor, scopes, pay);
  const context = { tokenProcessor, scopes, nameManager, importProcessor: null, helperManager };
  const root = new RootTransformer(context, options.transforms, false, options);
  const transformer = root.transformers.find((one) => one instanceof TypeScriptTransformer);
  useComputedMembers(transformer, tokenProcessor, root);
  declareParameterProperties(tokenProcessor, root);
  const result = root.transform();
  return {
    code: align(code, result.code, result.mappings, tokens),
    valueNames: [...getNonTypeIdentifiers(tokenProcessor, options)],
  };
}

/**
 * The program without types, and `valueNames`, the names that it uses as values: imports of other names may be types. With
 * `keepImports`, imports that are not used stay, because later programs of a session may use them. For a program that is not
 * valid or contains unsupported syntax, the error. `pay` is called with numbers of tokens before they are processed.
 */
export function stripTypes(code, keepImports, pay) {
  let limit;
  const payOrStop = (tokens) => {
    try {
      pay(tokens);
    } catch (error) {
      limit = { error };
      throw error;
    }
  };
  try {
    return transform(
      rewriteDecorators(rewriteNamespaces(code, payOrStop), payOrStop),
      keepImports,
      payOrStop,
    );
  } catch (error) {
    if (limit !== undefined) throw limit.error;
    if (error instanceof RangeError)
      return { error: { message: 'the program is nested too deeply', place: [1, 1] } };
    // The library has assertions, which programs that are not valid can violate.
    const { message, place, unsupported } =
      error instanceof SourceError ? error : { message: 'the program is not valid', place: [1, 1] };
    return { error: { message, place, unsupported } };
  }
}
