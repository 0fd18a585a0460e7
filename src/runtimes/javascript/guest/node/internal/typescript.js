/**
 * Removes the types from TypeScript. The tokens of the program keep their lines and, unless an enum or a parameter property
 * precedes them on the same line, their columns: removed text is replaced with blanks. Types are not checked.
 */
import { HelperManager } from 'sucrase/dist/esm/HelperManager.js';
import identifyShadowedGlobals from 'sucrase/dist/esm/identifyShadowedGlobals.js';
import NameManager from 'sucrase/dist/esm/NameManager.js';
import { parse } from 'sucrase/dist/esm/parser/index.js';
import { ContextualKeyword } from 'sucrase/dist/esm/parser/tokenizer/keywords.js';
import { TokenType } from 'sucrase/dist/esm/parser/tokenizer/types.js';
import TokenProcessor from 'sucrase/dist/esm/TokenProcessor.js';
import RootTransformer from 'sucrase/dist/esm/transformers/RootTransformer.js';
import TypeScriptTransformer from 'sucrase/dist/esm/transformers/TypeScriptTransformer.js';
import { getNonTypeIdentifiers } from 'sucrase/dist/esm/util/getNonTypeIdentifiers.js';
import getTSImportedNames from 'sucrase/dist/esm/util/getTSImportedNames.js';

/** Keywords that start a declaration which is removed as a whole. */
const DECLARATION_WORDS = new Set([
  ContextualKeyword._declare,
  ContextualKeyword._global,
  ContextualKeyword._interface,
  ContextualKeyword._module,
  ContextualKeyword._namespace,
  ContextualKeyword._type,
]);

function lineAndColumn(code, at) {
  const before = code.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: at - lineStart + 1 };
}

/** An error in the source, at a position in it. */
function syntaxError(message, { line, column }, file, code) {
  const error = new SyntaxError(message);
  Object.defineProperty(error, 'stack', {
    value: `SyntaxError: ${message}\n    at ${file}:${line}:${column}`,
    writable: true,
    configurable: true,
  });
  if (code !== undefined) Object.defineProperty(error, 'code', { value: code, configurable: true });
  return Object.defineProperty(error, 'place', { value: [line, column], configurable: true });
}

const UNSUPPORTED = 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX';

/** Throws for syntax that is not just a type: namespaces with values, and decorators. */
function rejectUnsupported(tokens, code, file) {
  const reject = (token, message) => {
    throw syntaxError(message, lineAndColumn(code, token.start), file, UNSUPPORTED);
  };
  let depth = 0;
  let ambient = false;
  for (const [i, token] of tokens.entries()) {
    if (token.type === TokenType.at)
      reject(token, 'decorators are not supported: call the decorator as a function');
    if (!token.isType) {
      ambient = false;
      continue;
    }
    // The whole body of a namespace is marked as type.
    if (!tokens[i - 1]?.isType) {
      ambient = token.contextualKeyword === ContextualKeyword._declare;
      depth = 0;
    }
    if (token.type === TokenType.braceL) depth++;
    if (token.type === TokenType.braceR) depth--;
    const isNamespace =
      token.contextualKeyword === ContextualKeyword._namespace ||
      token.contextualKeyword === ContextualKeyword._module;
    if (isNamespace && !ambient && depth === 0 && declaresValues(tokens, i)) {
      reject(token, 'namespaces with values are not supported: use a module, a class or an object');
    }
  }
}

const VALUE_TOKENS = new Set([
  TokenType._const,
  TokenType._let,
  TokenType._var,
  TokenType._function,
  TokenType._class,
  TokenType._enum,
]);

/** Whether the block of the namespace at token `i` contains more than types. */
function declaresValues(tokens, i) {
  let at = i + 1;
  if (tokens[at]?.type !== TokenType.name) return false;
  while (tokens[at]?.type === TokenType.name || tokens[at]?.type === TokenType.dot) at++;
  if (tokens[at]?.type !== TokenType.braceL) return false;
  for (let depth = 0; at < tokens.length; at++) {
    const { type } = tokens[at];
    if (type === TokenType.braceL) depth++;
    else if (type === TokenType.braceR && --depth === 0) return false;
    else if (depth === 1 && VALUE_TOKENS.has(type)) return true;
  }
  return false;
}

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
  if (before.isType) return false;
  return STATEMENT_ENDS.has(before.type) || source.slice(before.end, token.start).includes('\n');
}

/**
 * The program without types. `valueNames` are the names that it uses as values: imports of other names may be types.
 * With `keepImports`, imports that are not used stay, because later programs of a session may use them.
 */
export function stripTypes(code, file, keepImports = false) {
  let tokens;
  let scopes;
  try {
    ({ tokens, scopes } = parse(code, false, true, false));
  } catch (error) {
    if (error.loc === undefined) throw error;
    throw syntaxError(error.message.replace(/ \(\d+:\d+\)$/, ''), error.loc, file);
  }
  rejectUnsupported(tokens, code, file);
  const options = { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: keepImports };
  const nameManager = new NameManager(code, tokens);
  const helperManager = new HelperManager(nameManager);
  const tokenProcessor = new TokenProcessor(code, tokens, false, true, helperManager);
  identifyShadowedGlobals(tokenProcessor, scopes, getTSImportedNames(tokenProcessor));
  const context = { tokenProcessor, scopes, nameManager, importProcessor: null, helperManager };
  const root = new RootTransformer(context, options.transforms, false, options);
  const transformer = root.transformers.find((one) => one instanceof TypeScriptTransformer);
  useComputedMembers(transformer, tokenProcessor, root);
  declareParameterProperties(tokenProcessor, root);
  const result = root.transform();
  return {
    code: align(code, result.code, result.mappings, tokens),
    valueNames: getNonTypeIdentifiers(tokenProcessor, options),
  };
}

/** Line and column of the first frame of a syntax error. */
const placeOf = (error) => /:(\d+):(\d+)/.exec(error.stack)?.slice(1).map(Number) ?? [0, 0];

/**
 * Like `stripTypes`, for a program that the compiler rejected with `error`, which is thrown if there are no types. If the first error of the TypeScript
 * parser is at a later place, everything before it is valid TypeScript, so it is the error to report.
 */
export function stripRejected(code, file, error) {
  let stripped;
  try {
    stripped = stripTypes(code, file, true);
  } catch (found) {
    if (!(found instanceof SyntaxError)) throw error;
    const [line, column] = placeOf(error);
    const isLater = found.place[0] > line || (found.place[0] === line && found.place[1] > column);
    throw isLater || found.code === UNSUPPORTED ? found : error;
  }
  if (stripped.code === code) throw error;
  return stripped;
}
