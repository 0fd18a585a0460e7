/**
 * Writes the generated parts of the documents, between `<!-- generated: NAME -->` and `<!-- end -->`, from the tables in the
 * source, and server.json. `--check` writes nothing and fails if a file is out of date. Needs a build.
 *
 * Long tables are not committed: the document has a summary, and `--ship` writes a copy of the document with the table to
 * dist/docs, which the package contains and the MCP server serves. It also writes the tests of each guarantee there.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import './typescript.mjs';
import { guaranteesPage } from './guarantees.mjs';
import { registryText } from './registry.mjs';
import { errorSections, errorTable, trapSections, trapTable } from './troubleshooting.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { displayResult, networkLimits, networkPolicy, networkRule, networkSecret, policy, TRAPS } =
  await import(at('packages/core/dist/schema.js'));
const { formatCount, formatFuel, formatPercent, parseFuel, typicalSeconds } = await import(
  at('packages/core/dist/quantities.js')
);
const settings = {
  ...(await import(at('packages/server/dist/server/settings.js'))),
  ...(await import(at('packages/server/dist/server/resolve-settings.js'))),
};
const { serverSettings } = settings;
// The command line compares errors with the class of the library that it loads.
const { ERROR_CODES, SandboxError } = await import('@llm-wasm-sandbox/core');
const { exitCodeOf } = await import(at('packages/cli/dist/cli/exit-codes.js'));
const { SERVER_FIELDS } = await import(at('packages/server/dist/gateway/tools-config.js'));
const { toolTable } = await import(at('packages/server/dist/mcp/tools/index.js'));
const { readImportCosts } = await import(at('packages/core/dist/packages/import-costs.js'));
const { GRACE } = await import(at('packages/core/dist/engine/run-context.js'));
const { IMPLEMENTED, UNAVAILABLE } = await import(
  at('packages/core/dist/runtimes/javascript/guest/node-module-names.js')
);
const { EVENTS } = await import(at('packages/core/dist/sandbox/log-events.js'));
const { NO_ABILITIES } = await import(at('packages/core/dist/schema/capabilities.js'));
const { LANGUAGES } = await import(at('packages/core/dist/runtimes/registry/languages.js'));
const { classify } = await import(at('packages/core/dist/analysis/find-rule.js'));
const { buildGuidance } = await import(at('packages/core/dist/analysis/build-guidance.js'));
const { exampleInput } = await import(at('test/analysis/examples/example-failure.ts'));
const { EXAMPLE_FAILURES } = await import(at('test/analysis/examples/index.ts'));
const { loadCommands } = await import(at('packages/cli/dist/cli/command-table.js'));
const { REPL_COMMANDS } = await import(at('packages/cli/dist/cli/repl/commands.js'));
const { THRESHOLDS } = await import(at('packages/core/dist/analysis/suggested-limits.js'));

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('| --- ', '|---').replace('|--- |', '|---|'))
    .join('\n');
}

/** The fields of a schema. */
function fieldTable(schema, shorten = (text) => text) {
  const rows = Object.entries(schema.shape).map(([name, field]) => {
    const found = field.safeParse(undefined);
    const fallback = found.success ? found.data : undefined;
    const isObject = typeof fallback === 'object' && fallback !== null && !Array.isArray(fallback);
    return [`\`${name}\``, isObject ? 'see below' : show(fallback), shorten(field.description)];
  });
  return table(['field', 'default', 'meaning'], rows);
}

const show = (value) => (typeof value === 'number' ? formatCount(value) : `\`${JSON.stringify(value)}\``);

function packagesOf(wanted) {
  const rows = readImportCosts()
    .packages.filter(({ language }) => language === wanted)
    .map((row) => [
      `${row.name} ${row.version}`,
      row.measured_imports.map((name) => `\`${name}\``).join(', '),
      formatFuel(row.fuel_first_import),
      formatFuel(row.fuel_cached_import),
      row.heavy ? 'heavy' : '',
      row.use,
      row.licence,
    ]);
  return table(['package', 'import', 'first import', 'again', '', 'use', 'licence'], rows);
}

/** The fields of a schema, with their defaults. */
const fieldNames = (schema) =>
  `${Object.entries(schema.shape)
    .map(([name, field]) => {
      const { data } = field.safeParse(undefined);
      return `\`${name}\`${data === undefined ? '' : ` (${show(data)})`}`;
    })
    .join(', ')}.`;

/** The modules of Python's standard library whose import costs fuel, the largest first. */
const expensiveModules = () =>
  readImportCosts()
    .stdlib.filter(({ warm }) => !warm)
    .sort((a, b) => b.fuel_first_import - a.fuel_first_import);

/** What gives programs a capability. */
const GRANTED_BY = { addsPackages: "`packages: 'auto'`", network: '`policy.network`', tools: '`tools`' };

const sentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const clauses = (notes) => notes.flatMap((note) => note.split(/(?<=[.;]) /));

/** What the notes of a language for models say with and without each capability. */
function abilities(language) {
  const without = clauses(LANGUAGES[language].apiNotes(NO_ABILITIES));
  const rows = Object.keys(NO_ABILITIES).flatMap((name) => {
    const granted = clauses(LANGUAGES[language].apiNotes({ ...NO_ABILITIES, [name]: true }));
    const differing = (notes, others) => sentence(notes.filter((note) => !others.includes(note)).join(' '));
    const row = [GRANTED_BY[name], differing(without, granted), differing(granted, without)];
    return row[2] === '' ? [] : [row];
  });
  return table(['option', 'without it', 'with it'], rows);
}

const packageNames = (wanted) =>
  readImportCosts()
    .packages.filter(({ language }) => language === wanted)
    .map(({ name, heavy }) => (heavy ? `${name} (heavy)` : name))
    .join(', ');

/** Rules of all languages in the order in which they are tried, each once. */
const RULES = [...new Set(Object.values(LANGUAGES).flatMap(({ rules }) => rules))];

/** The types of guidance, each with its rules. */
const guidanceTypes = () =>
  [...new Set(RULES.map(({ type }) => type))].map((type) => [
    type,
    RULES.filter((rule) => rule.type === type),
  ]);

/** Examples of guidance as Markdown, by the rule that applies to them. */
const EXAMPLES = new Map(RULES.map((rule) => [rule, []]));
for (const { name, rules, ...language } of Object.values(LANGUAGES)) {
  const { [`${name}Source`]: reader } = await import(
    at(`packages/core/dist/runtimes/${name}/source-reader.js`)
  );
  for (const { run } of EXAMPLE_FAILURES[name]) {
    const examined = { language: name, isStopped: run.trap != null, error: run.error };
    const program = reader.examine(run.source ?? '', examined);
    const found = classify(exampleInput({ name, ...language }, { program, ...run }), rules);
    const { error_message, actionable_guidance } = buildGuidance(found);
    const text = [error_message, ...actionable_guidance.map((line) => `- ${line}`)].join('\n');
    const example = `\`\`\`${name}\n${run.source}\n\`\`\`\n\n\`\`\`text\n${text}\n\`\`\``;
    EXAMPLES.get(found.rule).push(example);
  }
}

/** Programs whose fuel consumption the documentation lists. */
const MEASURED = [
  ['python', 'for i in range(1_000_000): pass'],
  ['python', 'sum([x * x for x in range(100_000)])'],
  ['python', 'sorted(str(x) for x in range(100_000))'],
  ['python', 'import json; json.loads(json.dumps(list(range(100_000))))'],
  ['javascript', 'for (let i = 0; i < 1_000_000; i++) {}'],
  ['javascript', 'JSON.parse(JSON.stringify(Array.from({ length: 100_000 }, (_, i) => i)))'],
];

/** Rounds to two significant digits. Builds differ slightly, so a documented figure within 5% stays. */
function rounded(value, documented) {
  const isNear = documented !== undefined && Math.abs(documented / value - 1) < 0.05;
  return isNear ? documented : Number(value.toPrecision(2));
}

/** The number in the last column of the row that contains `cell`, in the documented table. */
function figureBeside(cell, documented) {
  const row = documented.split('\n').find((line) => line.includes(cell));
  const figure = row && parseFuel(row.split('|').at(-2).trim());
  return figure > 0 ? figure : undefined;
}

async function measuredFuel() {
  const { createSandbox } = await import('llm-wasm-sandbox');
  const rows = [];
  for (const [runtime, code] of MEASURED) {
    const sandbox = await createSandbox({ runtime, policy: { deterministic: true } });
    const { fuel_consumed } = await sandbox.execute(code);
    await sandbox.close();
    rows.push([runtime, `\`${code}\``, fuel_consumed]);
  }
  return rows;
}

const quoted = (names) => names.map((name) => `\`${name}\``).join(', ');

const firstSentence = (text) => /^.*?[.;](?=\s|$)/s.exec(text)?.[0].replace(/;$/, '.') ?? text;

const COMMANDS = await loadCommands();

/** A command and its subcommands: what to type, without options, and what it does. */
const commandRows = ({ name, description, arguments: args = {}, subcommands = [] }, parents = []) =>
  subcommands.length > 0
    ? subcommands.flatMap((one) => commandRows(one, [...parents, name]))
    : [[`\`${[...parents, name, ...Object.keys(args)].join(' ')}\``, `${description}.`]];

const TABLES = {
  commands: () =>
    table(
      ['command', 'what it does'],
      COMMANDS.flatMap((command) => commandRows(command)),
    ),
  repl_commands: () =>
    table(
      ['command', 'effect'],
      REPL_COMMANDS.map(({ name, argument, description }) => [
        `\`:${name}${argument === undefined ? '' : ` ${argument}`}\``,
        description,
      ]),
    ),
  tools: () => {
    const rows = toolTable(serverSettings.parse({})).map(({ name, input, description }) => {
      const argument = ([key, field]) => `\`${key}${field.safeParse(undefined).success ? '?' : ''}\``;
      return [
        `\`${name}\``,
        Object.entries(input.shape).map(argument).join(', '),
        firstSentence(description),
      ];
    });
    return table(['tool', 'arguments', 'what it does'], rows);
  },
  settings: () => {
    const defaults = serverSettings.parse({});
    const rows = Object.entries(serverSettings.shape).map(([name, field]) => [
      `\`${name}\``,
      // A port is a name, not a quantity.
      name === 'port' ? defaults.port : defaults[name] === undefined ? '' : show(defaults[name]),
      field.description,
    ]);
    return table(['setting', 'default', 'meaning'], rows);
  },
  tools_config: () =>
    table(
      ['key of a server', 'meaning'],
      Object.entries(SERVER_FIELDS).map(([name, field]) => [`\`${name}\``, field.description]),
    ),
  guidance: () =>
    guidanceTypes()
      .map(([type, rules]) =>
        [`### ${type}`, ...rules.flatMap((rule) => [rule.evidence, ...EXAMPLES.get(rule)])].join('\n\n'),
      )
      .join('\n\n'),
  events: () =>
    table(
      ['event', 'meaning'],
      Object.entries(EVENTS).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
  thresholds: () => {
    const rows = THRESHOLDS.map(([from, status], i) => [
      `\`${status}\``,
      `${formatPercent(from)} to ${formatPercent(i === 0 ? 100 : THRESHOLDS[i - 1][0])} of the budget`,
    ]);
    return table(['status', 'when'], [...rows.reverse(), ['`exhausted`', 'the limit stopped the run']]);
  },
  default_budget: () => {
    const { fuel_budget, timeout_seconds } = policy.parse({});
    return `The default budget of ${formatFuel(fuel_budget)} fuel typically lasts for ${typicalSeconds(fuel_budget)} of computation;\n\`llm-wasm-sandbox doctor\` measures it on your machine. A compute-bound program reaches the budget before the time limit of\n${timeout_seconds} seconds. The time limit matters for programs that wait, and on slow machines. See\n[FUEL_BUDGETING.md](FUEL_BUDGETING.md#fuel-and-time).`;
  },
  fuel_and_time: () => {
    const { fuel_budget, timeout_seconds, max_fuel_budget, max_timeout_seconds } = serverSettings.parse({});
    return table(
      ['limits', 'fuel', 'typical computation time', 'time limit'],
      [
        ['default', formatFuel(fuel_budget), typicalSeconds(fuel_budget), `${timeout_seconds} s`],
        [
          'maximum of the MCP server',
          formatFuel(max_fuel_budget),
          typicalSeconds(max_fuel_budget),
          `${max_timeout_seconds} s`,
        ],
      ],
    );
  },
  grace: () =>
    `A run gets one grace period of at most ${GRACE.fuel / 1e6} million instructions. After a timeout or a cancellation, the grace\nperiod lasts at most ${GRACE.milliseconds} milliseconds.`,
  costs: async (documented) => {
    const rows = (await measuredFuel()).map(([runtime, code, value]) => [
      runtime,
      code,
      formatFuel(rounded(value, figureBeside(code, documented))),
    ]);
    return table(['language', 'program', 'fuel'], rows);
  },
  python_abilities: () => abilities('python'),
  javascript_abilities: () => abilities('javascript'),
  bash_abilities: () => abilities('bash'),
  python_packages: () => packagesOf('python'),
  javascript_packages: () => packagesOf('javascript'),
  node_modules: () => {
    const rows = [
      ['available', quoted(IMPLEMENTED)],
      [
        'can be loaded; calls throw, except `runInThisContext`, `Script` and `compileFunction` of `vm`',
        quoted(UNAVAILABLE),
      ],
    ];
    return table(['support', 'modules'], rows);
  },
  node_functions: () => {
    const support = JSON.parse(readFileSync(at('test/corpus/node-api/support.json'), 'utf8'));
    // The table is about the modules of the Node.js that it was made with.
    const rows = IMPLEMENTED.filter((name) => support[name] !== undefined).map((name) => {
      const { full = [], partial = [], throws = [], exists = [], missing = [] } = support[name];
      return [`\`${name}\``, quoted(full), quoted(partial), quoted(throws), quoted(exists), quoted(missing)];
    });
    return table(['module', 'full', 'partial', 'throws', 'exists, not probed', 'not available'], rows);
  },
  python_stdlib: () => {
    const rows = expensiveModules().map(({ name, fuel_first_import }) => [
      `\`${name}\``,
      formatFuel(fuel_first_import),
    ]);
    return table(['module', 'first import'], rows);
  },
  heavy_rule: () => {
    const { fuel_budget, heavy_share } = readImportCosts();
    const share = `${formatPercent(heavy_share * 100)} of the default budget of ${formatFuel(fuel_budget)}`;
    return `A package is *heavy* if its first import takes more than ${share}. openpyxl, PyPDF2 and jinja2 always count as heavy.`;
  },
  python_warm: () =>
    readImportCosts()
      .stdlib.filter(({ warm }) => warm)
      .map(({ name }) => `\`${name}\``)
      .join(', '),
  network: () => fieldTable(networkPolicy),
  network_limits: () => fieldTable(networkLimits),
  network_rule: () => fieldTable(networkRule),
  network_secret: () => fieldTable(networkSecret),
  policy: () => {
    const defaults = policy.parse({});
    const rows = Object.entries(policy.shape).map(([name, field]) => [
      `\`${name}\``,
      show(defaults[name]),
      field.description,
    ]);
    return table(['policy field', 'default', 'meaning'], rows);
  },
  display_result: () => {
    const rows = Object.entries(displayResult.shape).map(([name, field]) => [
      `\`${name}\``,
      field.description,
    ]);
    return table(['field', 'content'], rows);
  },
  error_codes: () => errorSections(ERROR_CODES, (code) => exitCodeOf(new SandboxError(code, ''))),
  trap_advice: () => trapSections(TRAPS),
  traps: () => {
    const rows = Object.entries(TRAPS).map(([reason, { exit_code, message }]) => [
      `\`${reason}\``,
      exit_code,
      message,
    ]);
    return table(['`trap_reason`', 'exit code', '`trap_message`'], rows);
  },
};

/** What a document has instead of a long table. */
const SUMMARIES = {
  commands: () =>
    `${quoted(COMMANDS.map(({ name }) => name))}.\n\`llm-wasm-sandbox --help\` describes them, and \`llm-wasm-sandbox COMMAND --help\` lists arguments and options.`,
  repl_commands: () => `${quoted(REPL_COMMANDS.map(({ name }) => `:${name}`))}. \`:help\` describes them.`,
  tools: () => `${quoted(toolTable(serverSettings.parse({})).map(({ name }) => name))}.`,
  settings: () => `${quoted(Object.keys(serverSettings.shape))}.`,
  events: () => `${quoted(Object.keys(EVENTS))}.`,
  guidance: () =>
    guidanceTypes()
      .map(([type, [{ evidence }]]) => `### ${type}\n\n${firstSentence(evidence)}`)
      .join('\n\n'),
  python_packages: () => `${packageNames('python')}.`,
  javascript_packages: () => `${packageNames('javascript')}.`,
  node_functions: () =>
    'The shipped copy of this document, `dist/docs/JAVASCRIPT_CAPABILITIES.md`, lists the functions of each module.',
  error_codes: () => errorTable(ERROR_CODES, (code) => exitCodeOf(new SandboxError(code, ''))),
  trap_advice: () => trapTable(TRAPS),
  display_result: () => fieldNames(displayResult),
  network: () => fieldTable(networkPolicy, firstSentence),
  network_limits: () => fieldNames(networkLimits),
  network_rule: () => fieldNames(networkRule),
  network_secret: () => fieldNames(networkSecret),
  python_stdlib: () =>
    `${expensiveModules()
      .map(({ name, fuel_first_import }) => `\`${name}\` ${formatFuel(fuel_first_import)}`)
      .join(', ')}.`,
  tools_config: () =>
    table(
      ['key of a server', 'meaning'],
      Object.entries(SERVER_FIELDS).map(([name, field]) => [`\`${name}\``, firstSentence(field.description)]),
    ),
  policy: () => {
    const defaults = policy.parse({});
    const rows = Object.entries(policy.shape).map(([name, field]) => [
      `\`${name}\``,
      show(defaults[name]),
      firstSentence(field.description),
    ]);
    return table(['field', 'default', 'meaning'], rows);
  },
};

const PART = /(<!-- generated: (\w+) -->\n)([\s\S]*?)(<!-- end -->)/g;

/** The text with its generated parts, each made by `make(name, documented)`. */
async function filled(file, text, make) {
  const parts = [];
  for (const [, , name, documented] of text.matchAll(PART)) {
    if (!(name in TABLES)) throw new Error(`${file}: unknown generated part "${name}"`);
    parts.push(await make(name, documented));
  }
  return text.replaceAll(PART, (_, start, _name, _documented, end) => `${start}${parts.shift()}\n${end}`);
}

const committed = (name, documented) => (SUMMARIES[name] ?? TABLES[name])(documented);

/** A table that has a summary; the other parts are in the document already. */
const shipped = (name, documented) => (name in SUMMARIES ? TABLES[name]() : documented.trimEnd());

const documents = readdirSync(at('docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

async function writeCommitted(isChecked) {
  const aboutPackage = JSON.parse(readFileSync(at('packages/cli/package.json'), 'utf8'));
  for (const file of ['server.json', ...documents]) {
    const text = readFileSync(at(file), 'utf8');
    const written =
      file === 'server.json' ? registryText(aboutPackage, settings) : await filled(file, text, committed);
    if (written === text) continue;
    if (isChecked) {
      console.error(`${file} is out of date. Run "npm run docs".`);
      process.exitCode = 1;
    } else {
      writeFileSync(at(file), written);
      console.log(`wrote ${file}`);
    }
  }
}

/** Links lead to the documents beside which the copies lie in the package. */
const relinked = (text) =>
  text.replaceAll(/\]\((?![a-z]+:|#)(?:\.\.\/)?/g, (link) =>
    link === '](../' ? '](../../' : '](../../docs/',
  );

async function writeShipped() {
  mkdirSync(at('packages/core/dist/docs'), { recursive: true });
  for (const file of documents) {
    const text = readFileSync(at(file), 'utf8');
    const full = await filled(file, text, shipped);
    if (full !== text) writeFileSync(at(`packages/core/dist/${file}`), relinked(full));
    else rmSync(at(`packages/core/dist/${file}`), { force: true });
  }
  writeFileSync(at('packages/core/dist/docs/GUARANTEES.md'), guaranteesPage());
}

/** The examples in docs/RESULTS.md that end with a chart, as pictures. test/sandbox/charts.test.ts checks that they are current. */
async function drawExamples() {
  const { createSandbox } = await import('llm-wasm-sandbox');
  const { chartExamples } = await import('./chart-examples.mjs');
  for (const { runtime, code, picture } of chartExamples()) {
    const sandbox = await createSandbox({ runtime });
    const { results } = await sandbox.execute(code);
    await sandbox.close();
    writeFileSync(at(picture), `${results.at(-1).svg}\n`);
    console.log(`wrote ${picture}`);
  }
}

if (process.argv.includes('--ship')) await writeShipped();
else {
  const isChecked = process.argv.includes('--check');
  await writeCommitted(isChecked);
  if (!isChecked) await drawExamples();
}
// Workers of the sandboxes would keep the process alive.
process.exit();
