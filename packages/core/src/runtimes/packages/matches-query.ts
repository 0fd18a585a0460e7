/** The search for packages by name, use and purpose. */
import type { PackageFacts } from '../../schema.ts';
import { LANGUAGES } from '../registry/languages.ts';

/** Other words for purposes, by which models search for packages. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  arrays: 'matrix linear algebra',
  'data frames': 'dataframe table',
  charts: 'plot figure',
  images: 'picture photo',
};

/** Whether the names, the use or the purpose of a package contain all words of a query in lower case. */
export function matchesQuery(
  { language, name, import_names, use }: Pick<PackageFacts, 'language' | 'name' | 'import_names' | 'use'>,
  query: string,
): boolean {
  const purposes = Object.entries(LANGUAGES[language].packagesByPurpose)
    .filter(([, names]) => names.includes(name))
    .map(([purpose]) => `${purpose} ${OTHER_WORDS[purpose] ?? ''}`);
  const text = [name, ...import_names, use, ...purposes].join(' ').toLowerCase();
  return query.split(/\s+/).every((word) => text.includes(word));
}
