/**
 * Writes docs/API.md from the TSDoc comments of src/index.ts with TypeDoc. `--check` writes nothing and fails when the
 * file is out of date. Needs a build.
 *
 * TypeDoc reads programs through the JavaScript API of TypeScript, which TypeScript 7 does not have. It runs on its own
 * TypeScript, installed in a cache outside the repository; the project is still compiled and checked by its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installPinned } from './install-pinned-packages.mjs';

const PROGRAMS = ['typedoc@0.28.20', 'typedoc-plugin-markdown@4.14.1', 'typescript@5.9.3'];
const TARGET = 'docs/API.md';

/** Every export of src/index.ts, in the order of the document. */
const SECTIONS = {
  Sandboxes: ['createSandbox', 'SandboxOptions', 'Sandbox', 'ExecuteOptions', 'Execution', 'WorkspaceFile'],
  Results: [
    'SandboxResult',
    'DisplayResult',
    'SuccessfulResult',
    'FailedResult',
    'GuestError',
    'ErrorGuidance',
    'FuelAnalysis',
    'FuelProfile',
    'StoppedAt',
    'FUEL_STATUSES',
    'ImportFacts',
    'TrapReason',
    'TRAPS',
  ],
  Tools: [
    'ToolsOption',
    'ToolRecord',
    'ToolDefinition',
    'ToolFunction',
    'ToolContext',
    'ToolSchema',
    'StandardSchema',
    'StandardResult',
    'StandardIssue',
    'AiSdkSchema',
    'JsonSchema',
    'Toolset',
    'ToolDescription',
    'ToolError',
    'ToolErrorCode',
    'TOOL_ERROR_CODES',
    'OnApproval',
    'ApprovalRequest',
    'ApprovalDecision',
    'Resolution',
    'ToolCallRecord',
    'PendingCall',
    'fromMcp',
    'FromMcpOptions',
    'McpClient',
    'McpTool',
    'McpToolHints',
  ],
  Policy: ['PolicyInput', 'Policy', 'SessionPolicy', 'Mount'],
  Sessions: [
    'SessionOptions',
    'Commit',
    'Session',
    'ForkOptions',
    'isSession',
    'CheckpointInfo',
    'Variable',
    'SessionRecord',
    'openSessions',
    'SessionsOptions',
    'SessionRegistry',
    'CreateOptions',
    'CreateMode',
    'OpenOptions',
    'SessionLimits',
    'SessionInfo',
    'ImportOptions',
    'PruneOptions',
    'PruneReport',
  ],
  'Paused programs': ['PausedExecution', 'ResumeOptions'],
  Batches: ['runBatch', 'BatchProgram', 'BatchOptions', 'BatchResult', 'BatchError'],
  Jobs: [
    'openJobQueue',
    'JobQueueOptions',
    'JobStoreOptions',
    'JobQueue',
    'SubmitOptions',
    'SubmittedJob',
    'JobState',
    'runJobWorker',
    'JobWorkerOptions',
    'JobEvent',
  ],
  Stores: [
    'memoryStore',
    'MemoryStoreOptions',
    'diskStore',
    'DiskStoreOptions',
    'postgresStore',
    'PostgresStoreOptions',
    'PostgresStore',
    'PostgresPool',
    'PostgresClient',
    'PostgresResult',
    'SessionStore',
    'StoredSession',
    'SessionState',
    'Checkpoint',
    'RecoveredWorkspace',
    'LeaseWait',
    'TreeEdit',
    'Entry',
  ],
  'Worker threads': ['createPool', 'PoolOptions', 'Isolation', 'Optimization', 'Pool'],
  'Runtimes and packages': [
    'RuntimeName',
    'LanguageName',
    'RUNTIME_NAMES',
    'LANGUAGE_NAMES',
    'listPackages',
    'ListedPackage',
    'PackageFacts',
  ],
  Events: ['EventLogger', 'EventName', 'EVENTS'],
  Errors: ['SandboxError', 'ErrorCode', 'ERROR_CODES'],
};

const INTRODUCTION = `# API

Everything that \`import { … } from 'llm-wasm-sandbox'\` provides. \`npm run docs:api\` generates this page from the TSDoc
comments of the source. Data that also appears as JSON has snake_case names; methods, callbacks and options that stay in
the process have camelCase names.
`;

const root = fileURLToPath(new URL('../', import.meta.url));
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
} = await import(pathToFileURL(require.resolve('typedoc')).href);
const schemas = {
  ...(await import(join(root, 'dist/schema.js'))),
  ...(await import(join(root, 'dist/runtimes/variable.js'))),
  ...(await import(join(root, 'dist/session/registry-limits.js'))),
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
      property.comment = textComment(field.description);
    const inline = property.type.declaration;
    const exported = exportedType(project, field, isInput);
    if (exported !== undefined) {
      property.type = exported;
      if (inline !== undefined) project.removeReflection(inline);
    } else if (inline !== undefined) complete(project, inline, unwrap(field), isInput);
  }
}

const textComment = (text) => new Comment([{ kind: 'text', text }]);

/** Shows the rows of a constant table as descriptions instead of literal types. */
function describeRows(project, table) {
  for (const row of table.type.declaration.children ?? []) {
    const fields = row.type.declaration;
    const values = fields?.children.map(({ name, type }) => `${name}: ${type.value}`) ?? [row.type.value];
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
      complete(project, child, schema, /(Input|Options)$/.test(child.name));
    }
    if (child.kindOf(ReflectionKind.Variable) && child.type.declaration) describeRows(project, child);
  }
  const missing = [...sectionOf.keys()];
  if (missing.length > 0)
    throw new Error(`SECTIONS lists names that are not exported: ${missing.join(', ')}.`);
  const exports = new Set(project.children.map(({ name }) => name));
  for (const reflection of Object.values(project.reflections)) simplify(project, reflection, exports);
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
    entryPoints: [join(root, 'src/index.ts')],
    tsconfig: join(root, 'tsconfig.build.json'),
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
  const text = `${INTRODUCTION}\n${(await generate(out)).replaceAll(/:0\]\(/g, '](').trim()}\n`;
  if (!process.argv.includes('--check')) {
    writeFileSync(join(root, TARGET), text);
    console.log(`wrote ${TARGET}`);
  } else if (readFileSync(join(root, TARGET), 'utf8') !== text) {
    console.error(`${TARGET} is out of date. Run "npm run docs:api".`);
    process.exitCode = 1;
  }
} finally {
  rmSync(out, { recursive: true, force: true });
}
