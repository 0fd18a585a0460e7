/** Programs that complete and describe names of a session. */
import { MAX_COMPLETIONS } from '../language.ts';

export const completionProgram = (object: string, prefix: string, declared: readonly string[]) => `
((object, names, prefix) => {
  for (let at = Object(object); at !== null; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  return [...names].filter((name) => name.startsWith(prefix) && /^[\\w$]+$/.test(name)).sort().slice(0, ${MAX_COMPLETIONS});
})(${object || 'globalThis'}, new Set(${JSON.stringify(object === '' ? declared : [])}), ${JSON.stringify(prefix)})`;

export const descriptionProgram = (object: string) => `
((value) => {
  const text = typeof value === 'function' ? String(value) : require('util').inspect(value);
  return ('Type: ' + (value?.constructor?.name ?? typeof value) + '\\n' + text).slice(0, 4000);
})(${object})`;
