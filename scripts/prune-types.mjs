/**
 * Writes the published declaration files: the parts of those in dist/ that the public types refer to, so that a project
 * that checks the types of its dependencies checks nothing else. A name counts as referred to if it occurs anywhere in
 * a declaration that is kept, so too much may remain. `npm run test:install` fails if too little remains.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Statements that end with a brace instead of a semicolon. */
const BLOCK =
  /^(?:\/\*[\s\S]*?\*\/\s*)*(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:interface|class|namespace|enum)\b/;
const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:const|let|var|function|class|interface|type|enum|namespace) ([\w$]+)/;

/** Splits a declaration file into its top-level statements, each with the comments before it. */
function splitStatements(text) {
  const statements = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (text.startsWith('/*', at)) at = endOf(text, '*/', at);
    else if (text.startsWith('//', at)) at = endOf(text, '\n', at);
    else if (`"'\``.includes(character)) {
      at++;
      while (text[at] !== character) at += text[at] === '\\' ? 2 : 1;
    } else if ('{(['.includes(character)) depth++;
    else if ('})]'.includes(character)) depth--;
    if (depth > 0) continue;
    const statement = text.slice(start, at + 1).trim();
    const isEnd = text[at] === ';' || (text[at] === '}' && BLOCK.test(statement));
    if (!isEnd) continue;
    statements.push(statement);
    start = at + 1;
  }
  return statements;
}

/** The last position of the next `mark`, or of the text. */
function endOf(text, mark, from) {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length - 1;
}

const withoutComments = (statement) => statement.replace(/^(?:\/\*[\s\S]*?\*\/\s*|\/\/.*\n\s*)+/, '');
/** The names that a declaration may refer to. Names of fields, parameters and methods are none. */
function identifiers(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/[\w$]+(?=\??:|\()/g, '');
  return new Set(code.match(/[\w$]+/g) ?? []);
}
const VALUE = /^(?:export )?(?:declare )?(?:const|let|var|function)\b/;
/** Whether a statement refers to a name as a type only. */
const isTypeIn = (statement, name) =>
  !new RegExp(`(?:typeof |\\[)${name.replaceAll('$', '\\$')}\\b`).test(statement);

/** The names in braces: those of the other module, and those used in this one. */
function parseNames(list) {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter(Boolean)
    .map((part) => {
      const [imported, local = imported] = part.split(' as ');
      return { imported, local };
    });
}

class Declarations {
  /** Statements by the names that they declare. */
  declared = new Map();
  /** Where imported names come from. */
  imported = new Map();
  /** Where the names that the file re-exports come from. */
  reexported = new Map();
  /** Modules that the file re-exports as a whole. */
  reexportedModules = [];
  kept = new Set();

  constructor(path) {
    this.path = path;
    this.statements = splitStatements(readFileSync(path, 'utf8'));
    for (const statement of this.statements) this.#read(statement, withoutComments(statement));
  }

  #read(statement, code) {
    const from = /from ['"]([^'"]+)['"]/.exec(code)?.[1];
    const names = /\{([^}]*)\}/.exec(code)?.[1] ?? '';
    if (code.startsWith('import')) {
      for (const { imported, local } of parseNames(names))
        this.imported.set(local, { from, imported, statement });
      const other = /^import (?:type )?(?:\* as )?([\w$]+)(?:,| from)/.exec(code)?.[1];
      if (other !== undefined) this.imported.set(other, { from, imported: '*', statement });
    } else if (/^export (?:type )?\*/.test(code)) this.reexportedModules.push({ from, statement });
    else if (/^export (?:type )?\{/.test(code))
      for (const { imported, local } of parseNames(names))
        this.reexported.set(local, { from, imported, statement });
    else {
      const name = DECLARED.exec(code)?.[1];
      if (name === undefined) return void this.kept.add(statement);
      this.declared.set(name, [...(this.declared.get(name) ?? []), statement]);
    }
  }
}

/** Writes the declarations of a folder that its `entries` refer to, into another folder. */
export function pruneTypes(folder, entries, output) {
  const files = new Map();
  const fileAt = (path) => {
    if (!files.has(path)) files.set(path, existsSync(path) ? new Declarations(path) : undefined);
    return files.get(path);
  };
  const target = (file, from) =>
    from?.startsWith('.') ? join(dirname(file.path), from.replace(/\.(?:ts|js)$/, '.d.ts')) : undefined;
  const visited = new Set();
  const referred = new Set();
  const keepFrom = (file, { from, imported, statement }, isType) => {
    const path = target(file, from);
    const isKept = path === undefined || fileAt(path) === undefined || keep(fileAt(path), imported, isType);
    if (isKept) file.kept.add(statement);
    return isKept;
  };
  /** Keeps what a name stands for. Returns whether there is anything. A value is nothing where a type is meant. */
  function keep(file, name, isType = false) {
    const key = `${file.path} ${name}`;
    if (visited.has(`${key} ${isType}`)) return referred.has(key) || !isType;
    visited.add(`${key} ${isType}`);
    if (name === '*')
      for (const each of [...file.declared.keys(), ...file.reexported.keys()]) keep(file, each);
    let isKept = name === '*';
    for (const statement of file.declared.get(name) ?? []) {
      if (isType && VALUE.test(withoutComments(statement))) continue;
      isKept = true;
      referred.add(key);
      file.kept.add(statement);
      for (const used of identifiers(statement))
        if (used !== name) keep(file, used, isTypeIn(statement, used));
      for (const [, from, member] of statement.matchAll(/import\(['"](\.[^'"]+)['"]\)\.([\w$]+)/g))
        keepFrom(file, { from, imported: member, statement }, true);
    }
    if (file.imported.has(name)) isKept = keepFrom(file, file.imported.get(name), isType) || isKept;
    if (file.reexported.has(name)) {
      const row = file.reexported.get(name);
      const own = () => (row.imported === name ? isKept : keep(file, row.imported, isType));
      const isFound = row.from === undefined ? own() : keepFrom(file, row, isType);
      if (isFound) file.kept.add(row.statement);
      isKept = isFound || isKept;
    }
    if (!file.declared.has(name) && !file.reexported.has(name))
      for (const { from, statement } of file.reexportedModules) {
        file.kept.add(statement);
        const path = target(file, from);
        if (path !== undefined && fileAt(path) !== undefined)
          isKept = keep(fileAt(path), name, isType) || isKept;
      }
    if (isKept) referred.add(key);
    return isKept;
  }
  for (const entry of entries) keep(fileAt(join(folder, entry)), '*');
  rmSync(output, { recursive: true, force: true });
  for (const [path, file] of files)
    if (file !== undefined) write(file, referred, join(output, relative(folder, path)));
}

const INTERNAL = "'@llm-wasm-sandbox/core/internal'";
const CORE_TYPES = new URL('../packages/core/types/index.d.ts', import.meta.url);

/** Public declarations of other packages refer to the public ones of the library. */
function withPublicNames(text, path) {
  if (!text.includes(INTERNAL)) return text;
  const exported = new Set(readFileSync(CORE_TYPES, 'utf8').match(/\w+/g));
  for (const [, list] of text.matchAll(/\{([^}]*)\} from '@llm-wasm-sandbox\/core\/internal'/g))
    for (const { imported } of parseNames(list))
      if (!exported.has(imported))
        throw new Error(`${path} refers to ${imported}, which packages/core/src/index.ts does not export.`);
  return text.replaceAll(INTERNAL, "'@llm-wasm-sandbox/core'");
}

/** Writes the statements that are kept. Imports and exports in braces keep only the names that are referred to. */
function write(file, referred, path) {
  const isReferred = ({ local }) => referred.has(`${file.path} ${local}`);
  const lines = file.statements
    .filter((statement) => file.kept.has(statement))
    .map((statement) => {
      const code = withoutComments(statement);
      if (!/^(?:import|export) (?:type )?\{/.test(code)) return statement;
      const list = /\{([^}]*)\}/.exec(code)[1];
      const parts = list.split(',').map((part) => part.trim());
      const used = parts.filter((part) => part !== '' && parseNames(part).every(isReferred));
      return statement.replace(/\{[^}]*\}/, `{ ${used.join(', ')} }`);
    });
  mkdirSync(dirname(path), { recursive: true });
  const text = withPublicNames(`${lines.join('\n')}\nexport {};\n`, path);
  writeFileSync(path, olderSyntax(text));
}

/** TypeScript before 5.7 has no type parameter for byte arrays. */
const olderSyntax = (text) =>
  text
    .replaceAll('Uint8Array<ArrayBufferLike>', 'Uint8Array')
    .replaceAll('Uint8Array<ArrayBuffer>', 'ReturnType<typeof Uint8Array.of>');
