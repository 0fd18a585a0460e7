/** Tools that tell what there is: runtimes, packages, numbers. */
import { z } from 'zod';
import { readManifest } from '../../packages/manifest.ts';
import { formatFuel } from '../../quantities.ts';
import { LANGUAGES, languageTitles } from '../../runtimes/languages.ts';
import { RUNTIME_NAMES, runtimeName } from '../../schema.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { notablePackages, packagesOf } from '../tool-descriptions.ts';

const runtimeRow = z.object({
  language: runtimeName,
  engine: z.string(),
  version: z.string(),
  language_level: z.string(),
  packages: z.number().int(),
  notable_packages: z.array(z.string()),
  api_notes: z.array(z.string()),
  helpers: z.array(z.string()),
});

const packageRow = z.object({
  name: z.string(),
  language: runtimeName,
  version: z.string(),
  import_pattern: z.string(),
  use: z.string(),
  fuel_first_import: z.number().int(),
  fuel_cached_import: z.number().int(),
  heavy: z.boolean(),
  preloaded: z.boolean(),
});

function runtimeRows(): z.infer<typeof runtimeRow>[] {
  return RUNTIME_NAMES.map((language) => {
    const { engine, version, level, apiNotes, helpers } = LANGUAGES[language];
    return {
      language,
      engine,
      version,
      language_level: level,
      packages: packagesOf(language).length,
      notable_packages: notablePackages(language),
      api_notes: [...apiNotes],
      helpers: [...helpers],
    };
  });
}

function packageRows(language: string | undefined, query: string): z.infer<typeof packageRow>[] {
  return readManifest()
    .packages.filter((one) => language === undefined || one.language === language)
    .filter((one) => `${one.name} ${one.import_names.join(' ')} ${one.use}`.toLowerCase().includes(query))
    .map((one) => ({
      name: one.name,
      language: one.language,
      version: one.version,
      import_pattern: LANGUAGES[one.language].importStatement(one.import_names[0] ?? one.name),
      use: one.use,
      fuel_first_import: one.fuel_first_import,
      fuel_cached_import: one.fuel_cached_import,
      heavy: one.heavy,
      preloaded: one.warm,
    }));
}

const percentiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() });
const counts = z.record(z.string(), z.number());

export const INFORMATION_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'list_runtimes',
    title: 'List languages',
    description:
      'Show which languages are supported, their versions, how many packages each has, API patterns that differ from what you may expect (JavaScript os functions return [result, error]) and helper functions. Use it once, before unusual code.',
    input: z.strictObject({}),
    output: z.object({ runtimes: z.array(runtimeRow) }),
    annotations: READ_ONLY,
    run: async () => {
      const runtimes = runtimeRows();
      const text = runtimes
        .map((one) =>
          [
            `${one.language}: ${one.engine} ${one.version}. ${one.language_level}. ${one.packages} packages, among them ${one.notable_packages.join(', ')}.`,
            ...one.api_notes.map((note) => `- ${note}`),
            `- helpers: ${one.helpers.join(', ')}`,
          ].join('\n'),
        )
        .join('\n\n');
      return { text, structured: { runtimes } };
    },
  }),
  defineTool({
    name: 'list_available_packages',
    title: 'List packages',
    description: `List the packages (libraries) that are available to ${languageTitles('and')} programs: how to import each, what for, and the fuel that a first and a cached import cost. Nothing can be installed. Use it before importing anything beyond the standard library.`,
    input: z.strictObject({
      language: runtimeName.optional().describe('Only this language.'),
      query: z.string().max(100).optional().describe('Only packages about this, e.g. "excel" or "yaml".'),
    }),
    output: z.object({ packages: z.array(packageRow) }),
    annotations: READ_ONLY,
    run: async ({ language, query = '' }) => {
      const packages = packageRows(language, query.toLowerCase());
      const lines = packages.map(
        (one) =>
          `${one.name} ${one.version} (${one.language}): ${one.use}. ${one.import_pattern}; first import ${formatFuel(one.fuel_first_import)} fuel${one.heavy ? ' (heavy)' : ''}, cached ${formatFuel(one.fuel_cached_import)}${one.preloaded ? ', loaded from the start' : ''}`,
      );
      return { text: [`${packages.length} packages.`, ...lines].join('\n'), structured: { packages } };
    },
  }),
  defineTool({
    name: 'get_metrics',
    title: 'Usage figures',
    description:
      'Show figures of your executions since the server started: how many succeeded and failed, by kind, how long they took, and percentiles of time, waiting and fuel over the last 1,000 runs. Use it to see what is slow or fails often.',
    input: z.strictObject({}),
    output: z.object({
      uptime_seconds: z.number(),
      tool_calls: z.number().int(),
      tool_errors: z.number().int(),
      executions: z.number().int(),
      succeeded: z.number().int(),
      failed: z.number().int(),
      outcomes: counts,
      languages: counts,
      error_types: counts,
      fuel_consumed: z.number(),
      duration_ms: percentiles,
      queue_ms: percentiles,
      fuel: percentiles,
      sessions: z.number().int(),
      running: z.number().int(),
    }),
    annotations: READ_ONLY,
    run: async (_, { tenant, state }) => {
      const structured = {
        uptime_seconds: Math.round((Date.now() - state.startedAt) / 1000),
        ...tenant.stats.report(),
        sessions: (await tenant.sessions.list()).length,
        running: tenant.totalRunningCalls,
      };
      const text = Object.entries(structured)
        .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
        .join('\n');
      return { text, structured };
    },
  }),
];
