/**
 * The locale data of Intl as modules of the guest, which loads each on first use. Dates and collation come from the folder
 * `guest/locale-data`, the rest from FormatJS. A module contains its data as JSON text, which takes less fuel than a literal.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ModuleSource } from './bundle-packages.ts';

const FOLDER = fileURLToPath(new URL('../guest/locale-data/', import.meta.url));
/** Name of the data, package of FormatJS, and the constructor that its files call. */
const FORMATJS = [
  ['number', 'intl-numberformat', 'NumberFormat'],
  ['plural', 'intl-pluralrules', 'PluralRules'],
  ['relative', 'intl-relativetimeformat', 'RelativeTimeFormat'],
  ['list', 'intl-listformat', 'ListFormat'],
] as const;

interface LocaleRow {
  readonly name: string;
}

const moduleOf = (name: string, expression: string): ModuleSource => ({
  name: `sandbox:node/internal/locale-data/${name}`,
  aliases: [],
  source: `export default function (require, module) { module.exports = ${expression}; }`,
});

const parsed = (json: string) => `JSON.parse(${JSON.stringify(json)})`;

/** The data that a file of FormatJS passes to `__addLocaleData`. Files of a locale without differences do not exist. */
function formatJsData(packageName: string, className: string, locale: string): object {
  const require = createRequire(import.meta.url);
  for (const name of [locale, locale.split('-')[0]]) {
    let text: string;
    try {
      text = readFileSync(require.resolve(`@formatjs/${packageName}/locale-data/${name}.js`), 'utf8');
    } catch {
      continue;
    }
    let data: object | undefined;
    const receiver = { [className]: { __addLocaleData: (found: { data: object }) => (data = found.data) } };
    new Function('Intl', text)(receiver);
    return data!;
  }
  throw new Error(`FormatJS has no data of ${packageName} for ${locale}`);
}

/** Plural rules contain a function. */
function expressionOf(data: object): string {
  const { fn } = data as { fn?: () => string };
  if (fn === undefined) return parsed(JSON.stringify(data));
  return `Object.assign(${parsed(JSON.stringify(data))}, { fn: ${fn} })`;
}

export async function localeDataModules(): Promise<ModuleSource[]> {
  const { LOCALES } = (await import(
    new URL('../guest/node/internal/intl/locales.js', import.meta.url).href
  )) as { LOCALES: readonly LocaleRow[] };
  const files = readdirSync(FOLDER)
    .sort()
    .map((file) =>
      moduleOf(file.slice(0, -'.json'.length), parsed(readFileSync(FOLDER + file, 'utf8').trim())),
    );
  const rows = LOCALES.flatMap(({ name }) =>
    FORMATJS.map(([kind, packageName, className]) =>
      moduleOf(`${kind}-${name.toLowerCase()}`, expressionOf(formatJsData(packageName, className, name))),
    ),
  );
  return [...files, ...rows];
}
