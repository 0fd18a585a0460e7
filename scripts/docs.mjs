/**
 * Writes the generated parts of the documents, between `<!-- generated: NAME -->` and `<!-- end -->`, from the tables in the
 * source, and server.json. `--check` writes nothing and fails if a file is out of date. Needs a build.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import './typescript.mjs';
import { benchmarkRows } from './benchmark-page.mjs';
import { provingTests } from './guarantees.mjs';
import { registryText } from './registry.mjs';
import { errorSections, trapSections } from './troubleshooting.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { displayResult, networkLimits, networkPolicy, networkRule, networkSecret, policy, TRAPS } =
  await import(at('dist/schema.js'));
const { formatCount, formatFuel, formatPercent, parseFuel, typicalSeconds } = await import(
  at('dist/quantities.js')
);
const settings = {
  ...(await import(at('dist/server/settings.js'))),
  ...(await import(at('dist/server/resolve-settings.js'))),
};
const { serverSettings } = settings;
const { ERROR_CODES, SandboxError } = await import(at('dist/errors.js'));
const { exitCodeOf } = await import(at('dist/cli/exit-codes.js'));
const { SERVER_FIELDS } = await import(at('dist/gateway/tools-config.js'));
const { toolTable } = await import(at('dist/mcp/tools/index.js'));
const { readImportCosts } = await import(at('dist/packages/import-costs.js'));
const { GRACE } = await import(at('dist/engine/grace.js'));
const { IMPLEMENTED, UNAVAILABLE } = await import(at('dist/runtimes/javascript/guest/node-module-names.js'));
const { EVENTS } = await import(at('dist/sandbox/log-events.js'));
const { LANGUAGES } = await import(at('dist/runtimes/languages.js'));
const { classify } = await import(at('dist/analysis/find-rule.js'));
const { buildGuidance } = await import(at('dist/analysis/build-guidance.js'));
const { exampleInput } = await import(at('test/analysis/examples/example-failure.ts'));
const { EXAMPLE_FAILURES } = await import(at('test/analysis/examples/index.ts'));
const { loadCommands } = await import(at('dist/cli/command-table.js'));
const { REPL_COMMANDS } = await import(at('dist/cli/repl/commands.js'));
const { fuelStatus, suggestedBudgets, THRESHOLDS } = await import(at('dist/analysis/suggested-limits.js'));

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('| --- ', '|---').replace('|--- |', '|---|'))
    .join('\n');
}

/** The fields of a schema. */
function fieldTable(schema) {
  const rows = Object.entries(schema.shape).map(([name, field]) => {
    const found = field.safeParse(undefined);
    const fallback = found.success ? found.data : undefined;
    const isObject = typeof fallback === 'object' && fallback !== null && !Array.isArray(fallback);
    return [`\`${name}\``, isObject ? 'see below' : show(fallback), field.description];
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

/** Rules of all languages in the order in which they are tried, each once. */
const RULES = [...new Set(Object.values(LANGUAGES).flatMap(({ rules }) => rules))];

/** Examples of guidance as Markdown, by the rule that applies to them. */
const EXAMPLES = new Map(RULES.map((rule) => [rule, []]));
for (const { name, rules, ...language } of Object.values(LANGUAGES)) {
  const { [`${name}Source`]: reader } = await import(at(`dist/runtimes/${name}/source-reader.js`));
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

const measured = await measuredFuel();

const quoted = (names) => names.map((name) => `\`${name}\``).join(', ');

/** The fuel of the first `require` of each Node.js module, beyond that of `require` itself. */
async function measuredRequires() {
  const { createSandbox } = await import('llm-wasm-sandbox');
  const fuelOf = async (code) => {
    const sandbox = await createSandbox({ runtime: 'javascript', policy: { deterministic: true } });
    const { fuel_consumed, success, stderr } = await sandbox.execute(code);
    await sandbox.close();
    if (!success) throw new Error(stderr);
    return fuel_consumed;
  };
  const baseline = await fuelOf(`typeof require;`);
  const fuel = new Map();
  for (const name of IMPLEMENTED)
    fuel.set(name, Math.max(0, (await fuelOf(`typeof require('node:${name}');`)) - baseline));
  return fuel;
}

const requireFuel = await measuredRequires();

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
  guidance: () => {
    const types = [...new Set(RULES.map(({ type }) => type))];
    return types
      .map((type) => {
        const rules = RULES.filter((rule) => rule.type === type);
        return [`### ${type}`, ...rules.flatMap((rule) => [rule.evidence, ...EXAMPLES.get(rule)])].join(
          '\n\n',
        );
      })
      .join('\n\n');
  },
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
  tests: (_, guarantee) => {
    const sentences = new Map();
    for (const { file, guarantees, sentence } of provingTests())
      if (guarantees.includes(guarantee)) sentences.set(file, [...(sentences.get(file) ?? []), sentence]);
    if (sentences.size === 0) throw new Error(`No test is marked with "guarantee: ${guarantee}".`);
    return [...sentences]
      .map(([file, list]) => [`- \`${file}\``, ...list.map((sentence) => `  - ${sentence}`)].join('\n'))
      .join('\n');
  },
  costs: (documented) => {
    const rows = measured.map(([runtime, code, value]) => [
      runtime,
      code,
      formatFuel(rounded(value, figureBeside(code, documented))),
    ]);
    return table(['language', 'program', 'fuel'], rows);
  },
  budgets: () => {
    const cases = [
      [8.5e9, 10e9],
      [9.7e9, 10e9],
      [15e9, 20e9],
      [8e9, 10e9],
      [396e6, 465e6],
      [80e6, 100e6],
    ];
    const rows = cases.map(([consumed, budget]) => {
      const { low, high } = suggestedBudgets(consumed, budget);
      return [
        formatFuel(consumed),
        formatFuel(budget),
        `\`${fuelStatus(consumed, budget, false)}\``,
        formatFuel(low),
        formatFuel(high),
      ];
    });
    return table(['consumed', 'budget', 'status', 'with 50% margin', 'with 100% margin'], rows);
  },
  python_packages: () => packagesOf('python'),
  javascript_packages: () => packagesOf('javascript'),
  node_modules: () => {
    const rows = [
      ['available', quoted(IMPLEMENTED)],
      ['can be loaded; calls throw, except those of `vm` named above', quoted(UNAVAILABLE)],
    ];
    return table(['support', 'modules'], rows);
  },
  node_functions: (documented) => {
    const support = JSON.parse(readFileSync(at('test/corpus/node-api/support.json'), 'utf8'));
    // The table is about the modules of the Node.js that it was made with.
    const rows = IMPLEMENTED.filter((name) => support[name] !== undefined).map((name) => {
      const { full = [], partial = [], throws = [], exists = [], missing = [] } = support[name];
      const fuel = rounded(requireFuel.get(name), figureBeside(`| \`${name}\` |`, documented));
      return [
        `\`${name}\``,
        quoted(full),
        quoted(partial),
        quoted(throws),
        quoted(exists),
        quoted(missing),
        formatFuel(fuel),
      ];
    });
    const columns = ['module', 'full', 'partial', 'throws', 'exists, not probed', 'not available'];
    return table([...columns, 'first `require`'], rows);
  },
  python_stdlib: () => {
    const { stdlib } = readImportCosts();
    const rows = stdlib
      .filter(({ warm }) => !warm)
      .sort((a, b) => b.fuel_first_import - a.fuel_first_import)
      .map(({ name, fuel_first_import }) => [`\`${name}\``, formatFuel(fuel_first_import)]);
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
  guidance_types: () => {
    const types = [...new Set(RULES.map(({ type }) => type))];
    return types.map((type) => `[${type}](ERROR_GUIDANCE.md#${type.toLowerCase()})`).join(' · ');
  },
  benchmarks: () =>
    table(['what', 'result', 'benchmark'], benchmarkRows(readFileSync(at('bench/RESULTS.md'), 'utf8'))),
  peers: () => {
    const results = readFileSync(at('bench/RESULTS.md'), 'utf8');
    const [, section] = /<!-- benchmark: peers -->([\s\S]*?)<!-- end -->/.exec(results);
    const [, machine] = /^(`npm run bench -- peers` on .*)$/m.exec(section);
    return `${section.match(/^\|.*$/gm).join('\n')}\n\n${machine} [What is measured](../bench/RESULTS.md#other-sandboxes).`;
  },
  traps: () => {
    const rows = Object.entries(TRAPS).map(([reason, { exit_code, message }]) => [
      `\`${reason}\``,
      exit_code,
      message,
    ]);
    return table(['`trap_reason`', 'exit code', '`trap_message`'], rows);
  },
};

const aboutPackage = JSON.parse(readFileSync(at('package.json'), 'utf8'));
const files = [
  'README.md',
  'SECURITY.md',
  'bench/BENCHMARKS.md',
  'server.json',
  ...readdirSync(at('docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
for (const file of files) {
  let text;
  try {
    text = readFileSync(at(file), 'utf8');
  } catch {
    continue;
  }
  const withTables = () =>
    text.replaceAll(
      /(<!-- generated: (\w+)(?: ([\w-]+))? -->\n)([\s\S]*?)(<!-- end -->)/g,
      (_, start, name, argument, documented, end) => {
        if (!(name in TABLES)) throw new Error(`${file}: unknown generated part "${name}"`);
        return `${start}${TABLES[name](documented, argument)}\n${end}`;
      },
    );
  const written = file === 'server.json' ? registryText(aboutPackage, settings) : withTables();
  if (written === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${file} is out of date. Run "npm run docs".`);
    process.exitCode = 1;
  } else {
    writeFileSync(at(file), written);
    console.log(`wrote ${file}`);
  }
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

if (!process.argv.includes('--check')) {
  await drawExamples();
  process.exit();
}
