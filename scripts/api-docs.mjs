/**
 * Writes dist/docs/API.md from the TSDoc comments of packages/cli/src/index.ts and what it re-exports, with TypeDoc. `--check` writes nothing. Both fail if an export
 * has no description or no section. Needs a build.
 *
 * TypeDoc reads programs through the JavaScript API of TypeScript, which TypeScript 7 does not have. It runs on its own
 * TypeScript, installed in a cache outside the repository; the project is still compiled and checked by its own.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { SECTIONS } from './api-sections.mjs';
import { installPinned } from './install-pinned-packages.mjs';

const PROGRAMS = ['typedoc@0.28.20', 'typedoc-plugin-markdown@4.14.1', 'typescript@5.9.3'];
const TARGET = 'packages/core/dist/docs/API.md';

/** Types whose fields mostly have the same descriptions as those of another type. Only the other fields are listed. */
const SIMILAR = { Policy: 'PolicyInput', SessionPolicy: 'PolicyInput', FailedResult: 'SuccessfulResult' };

const INTRODUCTION = `# API

This page describes everything that \`import { … } from 'llm-wasm-sandbox'\` provides.

- Data that also appears as JSON has snake_case names. Methods, callbacks and options that stay in the process have camelCase
  names.
- "Throws \`code\`" means that a function throws a [\`SandboxError\`](#sandboxerror) with this code. An asynchronous function
  rejects with the error.
- "Default" and "Maximum" at the end of a description state the default and the highest accepted value of an option.
`;

const root = fileURLToPath(new URL('../', import.meta.url));
/** Where the comments are: the sources of the packages that are re-exported, not their declarations. */
const SOURCES = {
  '@llm-wasm-sandbox/core': [join(root, 'packages/core/src/index.ts')],
  '@llm-wasm-sandbox/core/internal': [join(root, 'packages/core/src/internal.ts')],
  '@llm-wasm-sandbox/server/jobs': [join(root, 'packages/server/src/jobs/index.ts')],
};
const require = createRequire(join(installPinned('typedoc', PROGRAMS), 'package.json'));
const {
  Application,
  ArrayType,
  Comment,
  CommentTag,
  Converter,
  IntrinsicType,
  ReferenceType,
  ReflectionKind,
  UnionType,
} = await import(pathToFileURL(require.resolve('typedoc')).href);
const { formatBytes, formatCount } = await import(join(root, 'packages/core/dist/quantities.js'));
const { ERROR_CODES } = await import(join(root, 'packages/core/dist/errors.js'));
const { TOOL_ERROR_CODES } = await import(join(root, 'packages/core/dist/tools/tool-error.js'));
const schemas = {
  ...(await import(join(root, 'packages/core/dist/schema.js'))),
  ...(await import(join(root, 'packages/core/dist/runtimes/language.js'))),
};

/** The Zod schema that a type is inferred from: `Policy` and `PolicyInput` from `policy`. */
function schemaOf(typeName) {
  const name = typeName[0].toLowerCase() + typeName.slice(1);
  return [schemas[name], schemas[name.replace(/Input$/, '')]].find((found) => found?._zod !== undefined);
}

/** The schema inside wrappers such as optional() and default(). */
function unwrap(schema) {
  const { innerType } = schema._zod.def;
  return innerType === undefined ? schema : unwrap(innerType);
}

/** `describe` copies a schema; the copies of an object schema share its shape. */
function isSame(schema, other) {
  if (schema === undefined || schema === other) return schema === other;
  return schema._zod.def.shape !== undefined && schema._zod.def.shape === other._zod.def.shape;
}

/** The type of a property whose schema is that of an exported type, or a list of it. */
function exportedType(project, field, isInput) {
  const schema = unwrap(field);
  const { element } = schema._zod.def;
  if (element !== undefined) {
    const type = exportedType(project, element, isInput);
    return type && new ArrayType(type);
  }
  const found = project.children.filter(({ name }) => isSame(schemaOf(name), schema));
  const target = found.find(({ name }) => name.endsWith('Input') === isInput) ?? found[0];
  return target && ReferenceType.createResolvedReference(target.name, target, project);
}

/** Gives the properties of an inferred type the descriptions of their schemas, and links to other exported types. */
function complete(project, owner, schema, isInput) {
  for (const property of owner.children ?? []) {
    const field = schema._zod.def.shape?.[property.name];
    if (field === undefined) continue;
    delete property.defaultValue;
    if (field.description !== undefined && !property.hasComment())
      property.comment = textComment(field.description + (isInput ? boundsOf(property.name, field) : ''));
    const inline = property.type.declaration;
    const exported = exportedType(project, field, isInput);
    if (exported !== undefined) {
      property.type = exported;
      if (inline !== undefined) project.removeReflection(inline);
    } else if (inline !== undefined) complete(project, inline, unwrap(field), isInput);
  }
}

/** The default and the maximum of an option, as sentences, unless its description states them. Empty lists and objects are obvious defaults. */
function boundsOf(name, field) {
  const { type, defaultValue } = field._zod.def;
  const checks = (unwrap(field)._zod.def.checks ?? []).map((check) => check._zod.def);
  const upper = checks.find(({ check }) => check === 'less_than' || check === 'max_length');
  const maximum = upper?.maximum ?? upper?.value;
  const hasDefault =
    type === 'default' &&
    !field.description.includes('Default:') &&
    (typeof defaultValue !== 'object' || defaultValue === null);
  const unit = { array: ' items', string: ' characters' }[unwrap(field)._zod.def.type] ?? '';
  const isLimited =
    maximum !== undefined && !field.description.includes('Maximum:') && maximum < Number.MAX_SAFE_INTEGER;
  return [
    hasDefault ? ` Default: ${quantity(name, defaultValue)}.` : '',
    isLimited ? ` Maximum: ${quantity(name, maximum)}${unit}.` : '',
  ].join('');
}

function quantity(name, value) {
  if (typeof value !== 'number') return typeof value === 'string' ? `\`${value}\`` : String(value);
  return /bytes$/i.test(name) && value % 2 ** 20 === 0 ? formatBytes(value) : formatCount(value);
}

/** Removes the fields of a type that another type describes in the same words, and refers to that type instead. */
function shorten(project, type, other) {
  removeDescribed(project, type, other);
  const fields = type.children?.length ? 'Fields that are not listed here' : 'The fields';
  const link = `[\`${other.name}\`](#${other.name.toLowerCase()})`;
  type.comment.summary.push({ kind: 'text', text: ` ${fields} are those of ${link}.` });
}

function removeDescribed(project, type, other) {
  const textOf = ({ comment }) => comment?.summary.map(({ text }) => text).join('') ?? '';
  for (const field of [...(type.children ?? [])]) {
    const twin = other.children.find(({ name }) => name === field.name);
    if (twin === undefined || !textOf(twin).startsWith(textOf(field))) continue;
    const [inner, innerTwin] = [field, twin].map((one) => one.type?.declaration);
    if (inner?.children && innerTwin?.children) removeDescribed(project, inner, innerTwin);
    if (!inner?.children?.length) project.removeReflection(field);
  }
}

const textComment = (text) => new Comment([{ kind: 'text', text }]);

/** Shows the rows of a constant table as descriptions instead of literal types. */
function describeRows(project, table) {
  for (const row of table.type.declaration.children ?? []) {
    const fields = row.type.declaration;
    const values = fields?.children.map(({ name, type }) => `${name}: \`${type.value}\``) ?? [row.type.value];
    row.comment = textComment(values.join('; '));
    row.type = new IntrinsicType(fields === undefined ? 'string' : 'object');
    delete row.defaultValue;
    if (fields !== undefined) project.removeReflection(fields);
  }
}

/** Assigns every export to its section, and removes what readers do not need. */
function arrange(project) {
  const sectionOf = new Map(
    Object.entries(SECTIONS).flatMap(([section, names]) => names.map((name) => [name, section])),
  );
  for (const child of project.children) {
    const section = sectionOf.get(child.name);
    if (section === undefined) throw new Error(`${child.name} is exported but not listed in SECTIONS.`);
    sectionOf.delete(child.name);
    const schema = schemaOf(child.name);
    if (schema !== undefined) {
      // The base is the inferred type, which has no name.
      delete child.extendedTypes;
      complete(project, child, schema, /(Input|Options|Limits|CreateMode|BatchProgram)$/.test(child.name));
    }
    if (child.kindOf(ReflectionKind.Variable) && child.type.declaration) describeRows(project, child);
  }
  const typeNamed = (wanted) => project.children.find(({ name }) => name === wanted);
  for (const [name, other] of Object.entries(SIMILAR)) shorten(project, typeNamed(name), typeNamed(other));
  const missing = [...sectionOf.keys()];
  if (missing.length > 0)
    throw new Error(`SECTIONS lists names that are not exported: ${missing.join(', ')}.`);
  const exports = new Set(project.children.map(({ name }) => name));
  for (const reflection of Object.values(project.reflections)) {
    simplify(project, reflection, exports);
    nameValues(project, reflection);
  }
  const undocumented = project.children.flatMap(undocumentedIn);
  if (undocumented.length > 0) throw new Error(`Without a description: ${undocumented.join(', ')}.`);
  for (const child of project.children) {
    const category = {
      kind: 'text',
      text: Object.keys(SECTIONS).find((name) => SECTIONS[name].includes(child.name)),
    };
    for (const { comment } of child.signatures ?? [child])
      comment.blockTags.push(new CommentTag('@category', [category]));
  }
}

function simplify(project, reflection, exports) {
  // An exported base documents its own members.
  const bases = reflection.parent?.extendedTypes ?? [];
  if (reflection.inheritedFrom !== undefined && bases.some(({ name }) => exports.has(name)))
    project.removeReflection(reflection);
  // Only exports link to the source, and without a line number, which would change with every edit above it.
  const owner = reflection.kindOf(ReflectionKind.CallSignature) ? reflection.parent : reflection;
  if (owner.parent === project) for (const source of reflection.sources ?? []) source.line = 0;
  else delete reflection.sources;
  // Destructured parameters have no name of their own.
  if (reflection.name !== '__namedParameters') return;
  if (reflection.parent.parameters.some(({ name }) => name === 'options'))
    throw new Error(`${reflection.parent.name}: give the destructured parameter after "options" a name`);
  reflection.name = 'options';
}

/** The exported types that TypeDoc shows as lists of their values, with the values. */
const ENUMERATIONS = {
  ErrorCode: Object.keys(ERROR_CODES),
  ToolErrorCode: TOOL_ERROR_CODES,
  TrapReason: Object.keys(schemas.TRAPS),
  RuntimeName: schemas.RUNTIME_NAMES,
  LanguageName: schemas.LANGUAGE_NAMES,
};

/** Shows the name of an exported type instead of its values. */
function nameValues(project, reflection) {
  if (reflection.type?.type !== 'union') return;
  const isNull = ({ type, value }) => type === 'literal' && value === null;
  const values = reflection.type.types.filter((one) => !isNull(one)).map(({ value }) => value);
  const [name] =
    Object.entries(ENUMERATIONS).find(
      ([, all]) => all.length === values.length && all.every((value) => values.includes(value)),
    ) ?? [];
  if (name === undefined) return;
  const target = project.children.find((child) => child.name === name);
  const named = ReferenceType.createResolvedReference(name, target, project);
  const nulls = reflection.type.types.filter(isNull);
  reflection.type = nulls.length === 0 ? named : new UnionType([named, ...nulls]);
}

/** Names of the exports and members without a description. Constructors and disposal need none. */
function undocumentedIn(reflection) {
  if (reflection.kindOf(ReflectionKind.Constructor) || reflection.name === '[asyncDispose]') return [];
  const signatures =
    reflection.signatures ?? (reflection.getSignature ? [reflection.getSignature] : undefined);
  const isDocumented = (signatures ?? [reflection]).every((one) => one.hasComment());
  const members = reflection.children ?? reflection.type?.declaration?.children ?? [];
  return [
    ...(isDocumented ? [] : [reflection.getFullName()]),
    ...members.flatMap((member) => undocumentedIn(member)),
  ];
}

/** Sorts the exports of each section in the order of SECTIONS. */
function sort(project) {
  const order = Object.values(SECTIONS).flat();
  for (const { children } of project.categories)
    children.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

async function generate(out) {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: [join(root, 'packages/cli/src/index.ts')],
    tsconfig: join(root, 'tsconfig.json'),
    compilerOptions: { paths: SOURCES, noEmit: true },
    plugin: [require.resolve('typedoc-plugin-markdown')],
    out,
    name: 'API',
    readme: 'none',
    router: 'module',
    logLevel: 'Warn',
    // The project's own compiler checks the types; the libraries of this older one know less.
    skipErrorChecking: true,
    treatWarningsAsErrors: true,
    disableGit: true,
    basePath: root,
    sourceLinkTemplate: '../src/{path}',
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    categorizeByGroup: false,
    categoryOrder: Object.keys(SECTIONS),
    sort: ['source-order'],
    hidePageTitle: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    hideGenerator: true,
    hideGroupHeadings: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    propertyMembersFormat: 'table',
    tableColumnSettings: {
      hideDefaults: true,
      hideInherited: true,
      hideModifiers: true,
      hideOverrides: true,
      hideSources: true,
    },
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => arrange(project), -1000);
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => sort(project), -1000);
  const project = await app.convert();
  if (project !== undefined) {
    // Warns about types that the API uses and does not export.
    app.validate(project);
    await app.generateOutputs(project);
  }
  if (project === undefined || app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Error('TypeDoc reported problems; they are printed above.');
  return readFileSync(join(out, 'README.md'), 'utf8');
}

const out = mkdtempSync(join(tmpdir(), 'api-docs-'));
try {
  // Source files are not part of the npm package, so links to them would lead nowhere.
  const text = `${INTRODUCTION}\n${(await generate(out)).replaceAll(/^Defined in: .*\n\n/gm, '').trim()}\n`;
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(join(root, TARGET)), { recursive: true });
    writeFileSync(join(root, TARGET), text);
    console.log(`wrote ${TARGET}`);
  }
} finally {
  rmSync(out, { recursive: true, force: true });
}
