/** Tools that list the languages and packages available to programs. */

import {
  formatFuel,
  formatItems,
  installedRuntimes,
  LANGUAGE_RUNTIMES,
  LANGUAGES,
  languageName,
  languageTitles,
  matchesQuery,
  notablePackages,
  packagesOf,
  type RuntimeName,
  runtimeName,
  usualImport,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import type { ServerSettings } from '../../server/settings.ts';
import { capabilitiesOf, defineTool, READ_ONLY, type Tool } from '../tool.ts';

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

function runtimeRows(settings: ServerSettings): z.infer<typeof runtimeRow>[] {
  const capabilities = capabilitiesOf(settings);
  return installedRuntimes().map((language) => {
    const { engine, version, level, apiNotes, helpers } = LANGUAGES[language];
    return {
      language,
      engine,
      version,
      language_level: level,
      packages: packagesOf(settings, language).length,
      notable_packages: notablePackages(settings, language),
      api_notes: [...apiNotes(capabilities)],
      helpers: [...helpers],
    };
  });
}

function packageRows(
  settings: ServerSettings,
  language: RuntimeName | undefined,
  query: string,
): z.infer<typeof packageRow>[] {
  return packagesOf(settings, language)
    .filter((one) => matchesQuery(one, query))
    .map((one) => ({
      name: one.name,
      language: one.language,
      version: one.version,
      import_pattern: LANGUAGES[one.language].importStatement(usualImport(one.import_names[0] ?? one.name)),
      use: one.use,
      fuel_first_import: one.fuel_first_import,
      fuel_cached_import: one.fuel_cached_import,
      heavy: one.heavy,
      preloaded: one.warm,
    }));
}

const describePackages = ({ packages, notable_packages: notable }: z.infer<typeof runtimeRow>) =>
  packages === 0 ? 'No packages.' : `${packages} packages, including ${notable.join(', ')}.`;

export const listRuntimes = defineTool({
  name: 'list_runtimes',
  title: 'List languages',
  description:
    'Show which languages are supported, their versions, how many packages each has, API patterns that may be unexpected and helper functions. Use it once, before writing unusual code.',
  input: z.strictObject({}),
  output: z.object({ runtimes: z.array(runtimeRow) }),
  annotations: READ_ONLY,
  run: async (_, { state }) => {
    const runtimes = runtimeRows(state.settings);
    const text = runtimes
      .map((one) =>
        [
          `${one.language}: ${one.engine} ${one.version}. ${one.language_level}. ${describePackages(one)}`,
          ...one.api_notes.map((note) => `- ${note}`),
          `- helpers: ${one.helpers.join(', ')}`,
        ].join('\n'),
      )
      .join('\n\n');
    return { text, structured: { runtimes } };
  },
});

export const listAvailablePackages = (settings: ServerSettings): Tool =>
  defineTool({
    name: 'list_available_packages',
    title: 'List packages',
    description: `List the packages (libraries) that are available to ${languageTitles('and')} programs: how to import each, what it is for, and how much fuel a first and a cached import cost. ${capabilitiesOf(settings).addsPackages ? 'Other known packages of Python are added when a program imports them' : 'Programs cannot install packages'}. Use it before importing anything beyond the standard library.`,
    input: z.strictObject({
      language: languageName.optional().describe('Only this language.'),
      query: z
        .string()
        .max(100)
        .optional()
        .describe('Only packages that match this text, e.g. "excel" or "yaml".'),
    }),
    output: z.object({ packages: z.array(packageRow) }),
    annotations: READ_ONLY,
    run: async ({ language, query = '' }, { state }) => {
      const runtime = language && LANGUAGE_RUNTIMES[language];
      const hasPackages = runtime === undefined || packagesOf(state.settings, runtime).length > 0;
      const packages = packageRows(state.settings, hasPackages ? runtime : undefined, query.toLowerCase());
      const owner = hasPackages
        ? ''
        : ` ${language} has no packages of its own: these are for the interpreters that its programs start.`;
      const lines = packages.map(
        (one) =>
          `${one.name} ${one.version} (${one.language}): ${one.use}. ${one.import_pattern}; first import ${formatFuel(one.fuel_first_import)} fuel${one.heavy ? ' (heavy)' : ''}, cached ${formatFuel(one.fuel_cached_import)}${one.preloaded ? ', preloaded' : ''}`,
      );
      return {
        text: [`${formatItems(packages.length, 'package')}.${owner}`, ...lines].join('\n'),
        structured: { packages },
      };
    },
  });
