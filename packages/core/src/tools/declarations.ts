/**
 * Declarations of tools for models and editors: TypeScript (`.d.ts`) and Python (`.pyi`), generated from JSON Schemas. Schemas
 * are untrusted: depth and length are bounded, and text from a schema is quoted or in a comment that it cannot close.
 */
import { type JsonSchema, localTarget } from './schema-validator.ts';
import type { ToolDescription } from './toolset.ts';
import { isObject, type SchemaObject } from './validate-value.ts';

const MAX_DEPTH = 8;
const MAX_MEMBERS = 50;
const MAX_TYPE_CHARS = 4000;
const MAX_COMMENT_CHARS = 1000;

/** How a language writes types. */
interface TypeSyntax {
  readonly any: string;
  readonly names: Readonly<Record<string, string>>;
  readonly separator: string;
  array(item: string): string;
  literals(values: readonly unknown[]): string;
  object(members: readonly Member[], rest: string | undefined): string;
}
interface Member {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
}

/** Words that cannot be names of parameters in Python. */
const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield __debug__'
  ).split(' '),
);

const isIdentifier = (name: string) => /^[A-Za-z_$][\w$]*$/.test(name);
const propertyName = (name: string) => (isIdentifier(name) ? name : JSON.stringify(name));

const TYPESCRIPT: TypeSyntax = {
  any: 'unknown',
  names: { null: 'null', boolean: 'boolean', number: 'number', integer: 'number', string: 'string' },
  separator: ' | ',
  array: (item) => (/[ |]/.test(item) ? `Array<${item}>` : `${item}[]`),
  literals: (values) => values.map((value) => JSON.stringify(value)).join(' | '),
  object: (members, rest) => {
    const parts = members.map(
      ({ name, type, isRequired }) => `${propertyName(name)}${isRequired ? '' : '?'}: ${type}`,
    );
    if (rest !== undefined) parts.push(`[name: string]: ${members.length === 0 ? rest : 'unknown'}`);
    return parts.length === 0 ? '{}' : `{ ${parts.join('; ')} }`;
  },
};

const PYTHON: TypeSyntax = {
  any: 'Any',
  names: { null: 'None', boolean: 'bool', number: 'float', integer: 'int', string: 'str' },
  separator: ' | ',
  array: (item) => `list[${item}]`,
  literals: (values) =>
    values.some((value) => typeof value === 'object' || typeof value === 'number')
      ? 'Any'
      : `Literal[${values.map(pythonLiteral).join(', ')}]`,
  // A typed dictionary would need a class; the schema lists its keys.
  object: (members, rest) => `dict[str, ${members.length === 0 ? (rest ?? 'Any') : 'Any'}]`,
};

const pythonLiteral = (value: unknown) =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);

/** `weather: (args: { city: string }) => Promise<{ celsius: number }>` with its description as a comment. */
export function typescriptDeclaration({ path, description, ...tool }: ToolDescription): string {
  const input =
    tool.input_schema === null ? 'Record<string, unknown>' : typeOf(tool.input_schema, TYPESCRIPT);
  const output = tool.output_schema === null ? 'unknown' : typeOf(tool.output_schema, TYPESCRIPT);
  const isOptional = requiredNames(tool.input_schema).length === 0;
  const comment = description === '' ? '' : `/** ${commentText(description).replaceAll('*/', '* /')} */\n`;
  return `${comment}${path.at(-1)}(args${isOptional ? '?' : ''}: ${input}): Promise<${output}>;`;
}

/** `async def weather(*, city: str) -> dict[str, Any]: ...` with its description as a comment. */
export function pythonStub({ path, description, ...tool }: ToolDescription): string {
  const output = tool.output_schema === null ? 'Any' : typeOf(tool.output_schema, PYTHON);
  const comment = description === '' ? '' : `# ${commentText(description)}\n`;
  const parameters = pythonParameters(tool.input_schema);
  return `${comment}async def ${path.at(-1)}(${parameters}) -> ${output}: ...`;
}

/** Names that cannot be parameters, such as `from`, are passed as `**{"from": value}`. */
function pythonParameters(schema: JsonSchema | null): string {
  if (schema === null) return '**arguments: Any';
  const reader = new TypeReader(schema, PYTHON);
  const members = reader.members(schema, 0).sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const named = members.filter(({ name }) => /^[A-Za-z_]\w*$/.test(name) && !PYTHON_KEYWORDS.has(name));
  const parts = named.map(({ name, type, isRequired }) =>
    `${name}: ${type}${isRequired ? '' : ' = ...'}`.slice(0, MAX_TYPE_CHARS),
  );
  if (named.length > 0) parts.unshift('*');
  const isOpen =
    typeof schema === 'object' && schema['additionalProperties'] !== false && members.length === 0;
  if (isOpen || named.length < members.length) parts.push('**arguments: Any');
  return parts.join(', ');
}

function typeOf(schema: JsonSchema, syntax: TypeSyntax): string {
  return new TypeReader(schema, syntax).type(schema, 0);
}

function requiredNames(schema: JsonSchema | null): readonly unknown[] {
  const required = schema === null || typeof schema === 'boolean' ? undefined : schema['required'];
  return Array.isArray(required) ? required : [];
}

class TypeReader {
  #chars = 0;
  constructor(
    readonly root: JsonSchema,
    readonly syntax: TypeSyntax,
  ) {}

  type(schema: unknown, depth: number): string {
    if (!isObject(schema) || depth > MAX_DEPTH || this.#chars > MAX_TYPE_CHARS) return this.syntax.any;
    const text = this.#typeOfObject(schema, depth);
    this.#chars += text.length;
    return text.length > MAX_TYPE_CHARS ? this.syntax.any : text;
  }

  members(schema: unknown, depth: number): Member[] {
    const target = this.#target(schema);
    if (!isObject(target) || !isObject(target['properties'])) return [];
    const required = requiredNames(target);
    return Object.entries(target['properties'])
      .slice(0, MAX_MEMBERS)
      .map(([name, member]) => ({
        name: name.slice(0, 128),
        type: this.type(member, depth + 1),
        isRequired: required.includes(name),
      }));
  }

  #typeOfObject(schema: SchemaObject, depth: number): string {
    if (typeof schema['$ref'] === 'string') {
      const target = this.#target(schema);
      return target === schema ? this.syntax.any : this.type(target, depth + 1);
    }
    if (Object.hasOwn(schema, 'const')) return this.syntax.literals([schema['const']]);
    if (Array.isArray(schema['enum'])) return this.syntax.literals(schema['enum'].slice(0, MAX_MEMBERS));
    const alternatives = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(alternatives))
      return this.#union(alternatives.slice(0, MAX_MEMBERS).map((part) => this.type(part, depth + 1)));
    const types: unknown[] = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
    return this.#union(types.slice(0, 8).map((name) => this.#named(name, schema, depth)));
  }

  #named(name: unknown, schema: SchemaObject, depth: number): string {
    const isList = name === 'array' || (name === undefined && schema['items'] !== undefined);
    if (isList) return this.syntax.array(this.type(schema['items'], depth + 1));
    if (name === 'object' || (name === undefined && schema['properties'] !== undefined)) {
      const rest = schema['additionalProperties'];
      const isOpen = isObject(rest) || rest === true || schema['properties'] === undefined;
      const restType = isOpen ? this.type(rest, depth + 1) : undefined;
      return this.syntax.object(this.members(schema, depth), restType);
    }
    const names = this.syntax.names;
    return typeof name === 'string' && Object.hasOwn(names, name) ? names[name]! : this.syntax.any;
  }

  #union(types: readonly string[]): string {
    const distinct = [...new Set(types)];
    return distinct.includes(this.syntax.any) || distinct.length === 0
      ? this.syntax.any
      : distinct.join(this.syntax.separator);
  }

  /** Follows one local reference. The depth limit also ends chains of references. */
  #target(schema: unknown): unknown {
    const reference = isObject(schema) ? schema['$ref'] : undefined;
    if (typeof reference !== 'string' || !reference.startsWith('#')) return schema;
    return localTarget(this.root, reference);
  }
}

/** The description on one line. */
function commentText(description: string): string {
  const line = description.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_COMMENT_CHARS ? `${line.slice(0, MAX_COMMENT_CHARS)}…` : line;
}
