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
const identifiers = (text) => new Set(text.replace(/\/\*[\s\S]*?\*\//g, '').match(/[\w$]+/g) ?? []);

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
      const other = /^import (?:type )?(?:\* as )?([\w$]+)/.exec(code)?.[1];
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
  const keepFrom = (file, { from, imported, statement }) => {
    file.kept.add(statement);
    const path = target(file, from);
    if (path !== undefined && fileAt(path) !== undefined) keep(fileAt(path), imported);
  };
  function keep(file, name) {
    const key = `${file.path} ${name}`;
    if (visited.has(key)) return;
    visited.add(key);
    if (name === '*')
      for (const each of [...file.declared.keys(), ...file.reexported.keys()]) keep(file, each);
    for (const statement of file.declared.get(name) ?? []) {
      file.kept.add(statement);
      for (const used of identifiers(statement)) if (used !== name) keep(file, used);
      for (const [, from, member] of statement.matchAll(/import\(['"](\.[^'"]+)['"]\)\.([\w$]+)/g))
        keepFrom(file, { from, imported: member, statement });
    }
    if (file.imported.has(name)) keepFrom(file, file.imported.get(name));
    if (file.reexported.has(name)) {
      const row = file.reexported.get(name);
      if (row.from === undefined) {
        file.kept.add(row.statement);
        keep(file, row.imported);
      } else keepFrom(file, row);
    }
    if (file.declared.has(name) || file.reexported.has(name)) return;
    for (const { from, statement } of file.reexportedModules) {
      file.kept.add(statement);
      const path = target(file, from);
      if (path !== undefined && fileAt(path) !== undefined) keep(fileAt(path), name);
    }
  }
  for (const entry of entries) keep(fileAt(join(folder, entry)), '*');
  rmSync(output, { recursive: true, force: true });
  for (const [path, file] of files)
    if (file !== undefined) write(file, visited, join(output, relative(folder, path)));
}

/** Writes the statements that are kept. Imports and exports in braces keep only the names that are referred to. */
function write(file, visited, path) {
  const isReferred = ({ local }) => visited.has(`${file.path} ${local}`);
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
  writeFileSync(path, olderSyntax(`${lines.join('\n')}\nexport {};\n`));
}

/** TypeScript before 5.7 has no type parameter for byte arrays. */
const olderSyntax = (text) =>
  text
    .replaceAll('Uint8Array<ArrayBufferLike>', 'Uint8Array')
    .replaceAll('Uint8Array<ArrayBuffer>', 'ReturnType<typeof Uint8Array.of>');
