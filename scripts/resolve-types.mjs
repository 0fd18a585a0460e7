/**
 * Replaces the types that declaration files infer from Zod schemas by the types themselves, with the descriptions of their
 * fields, so that users of the packages do not need Zod.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { API } from 'typescript/unstable/sync';

const INFERRED = /z\.(infer|input|output)<typeof (\w+)>/g;
/** Flags of TypeScript: types are not shortened, and an alias is replaced by what it stands for. */
const NO_TRUNCATION = 1;
const IN_TYPE_ALIAS = 1 << 23;

const nameOf = (kind, schema) => `${schema}${kind === 'input' ? 'Input' : 'Output'}`;

/** Rewrites all declaration files in a folder. */
export function resolveTypes(folder) {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => join(folder, name))
    .filter((path) => readFileSync(path, 'utf8').match(INFERRED));
  if (paths.length === 0) return;
  for (const path of paths) declareInferred(path);
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...compilerOptions, types: ['node'] } }));
  const api = new API({ cwd: folder });
  try {
    const { checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    const printer = new Printer(checker, folder);
    const texts = paths.map((path) => withTypes(path, printer));
    paths.forEach((path, i) => {
      writeFileSync(path, texts[i]);
    });
  } finally {
    api.close();
  }
}

/** A constant for each inferred type: the checker gives the type of a name. */
function declareInferred(path) {
  const text = readFileSync(path, 'utf8');
  const declared = new Map(
    [...text.matchAll(INFERRED)].map(([all, kind, schema]) => [nameOf(kind, schema), all]),
  );
  const lines = [...declared].map(([name, type]) => `declare const ${name}: ${type};`);
  writeFileSync(
    path,
    `${text.replaceAll(INFERRED, (_, kind, schema) => nameOf(kind, schema))}\n${lines.join('\n')}\n`,
  );
}

/** The type of `z.json()`, which refers to itself. */
const JSON_TYPE =
  'type JSONType = string | number | boolean | null | JSONType[] | { [key: string]: JSONType };\n';

function withTypes(path, printer) {
  const text = readFileSync(path, 'utf8');
  const types = text.replaceAll(
    /^declare const (\w+): z\.(?:infer|input|output)<typeof \w+>;$/gm,
    (line, name, offset) => {
      const type = printer.checker.getTypeAtPosition(path, offset + line.indexOf(name));
      return `type ${name} = ${printer.print(type, '')};`;
    },
  );
  const complete = types.includes('JSONType') ? types + JSON_TYPE : types;
  return printer.importsFor(path, text, complete) + complete;
}

class Printer {
  constructor(checker, folder) {
    this.checker = checker;
    /** Where the types with names are. */
    this.declared = new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.d.ts'))
        .map((name) => join(folder, name))
        .flatMap((path) =>
          [...readFileSync(path, 'utf8').matchAll(/^export (?:interface|type|declare class) (\w+)/gm)].map(
            ([, name]) => [name, path],
          ),
        ),
    );
  }

  /** The imports of types that the printed text names and the text of before does not. */
  importsFor(path, before, after) {
    const known = new Set(before.replace(/\/\*[\s\S]*?\*\//g, '').match(/\w+/g));
    const named = new Set(after.replace(/\/\*[\s\S]*?\*\//g, '').match(/\b[A-Z]\w+/g));
    return [...named]
      .filter((name) => !known.has(name) && this.declared.has(name))
      .map((name) => {
        const from = relative(dirname(path), this.declared.get(name)).replace(/\.d\.ts$/, '.ts');
        return `import type { ${name} } from '${from.startsWith('.') ? from : `./${from}`}';\n`;
      })
      .join('');
  }

  print(type, indent) {
    const { checker } = this;
    if (type.getAliasSymbol()?.name === 'JSONType') return 'JSONType';
    if (type.isUnionType()) return this.#union(type, indent);
    if (checker.isArrayType(type)) {
      const [element] = checker.getTypeArguments(type);
      const text = this.print(element, indent);
      const isSingle = !element.isUnionType() && !element.isIntersectionType() && !/^[^{]*=>/.test(text);
      const array = isSingle ? `${text}[]` : `(${text})[]`;
      return type.getSymbol()?.name === 'ReadonlyArray' ? `readonly ${array}` : array;
    }
    const symbol = type.getSymbol();
    const isLiteral = type.isObjectType() && (symbol === undefined || symbol.name.startsWith('__'));
    const isFields =
      isLiteral &&
      !checker.isTupleType(type) &&
      checker.getPropertiesOfType(type).length > 0 &&
      checker.getSignaturesOfType(type, 0).length === 0 &&
      checker.getIndexInfosOfType(type).length === 0;
    if (isFields) return this.#fields(type, indent);
    const text = checker.typeToString(type, undefined, NO_TRUNCATION | IN_TYPE_ALIAS);
    return text.replaceAll(/(?:\w+\.)+JSONType\b/g, 'JSONType');
  }

  #union(type, indent) {
    const texts = type.getTypes().map((part) => this.print(part, indent));
    const parts = [
      ...new Set(texts.map((text) => (/=>/.test(text) && !text.startsWith('{') ? `(${text})` : text))),
    ];
    if (!parts.includes('true') || !parts.includes('false')) return parts.join(' | ');
    return ['boolean', ...parts.filter((part) => part !== 'true' && part !== 'false')].join(' | ');
  }

  #fields(type, indent) {
    const inner = `${indent}    `;
    const lines = this.checker.getPropertiesOfType(type).map((property) => {
      const comment = this.checker.getDocumentationCommentOfSymbol(property);
      const isOptional = (property.flags & (1 << 24)) !== 0;
      const value = this.print(this.checker.getTypeOfSymbol(property), inner);
      const name = /^[\w$]+$/.test(property.name) ? property.name : JSON.stringify(property.name);
      const documented = comment === '' ? '' : `${inner}/** ${comment} */\n`;
      return `${documented}${inner}${name}${isOptional ? '?' : ''}: ${value};`;
    });
    return `{\n${lines.join('\n')}\n${indent}}`;
  }
}
