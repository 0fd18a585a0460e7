/** The sources that the engine compiles for `import`: ES modules as they are, everything else as a wrapper module. */
import { host } from '../../host-calls.js';
import { load, nodeModule } from '../../node-modules.js';
import { loadOnce } from '../../vendored-packages.js';
import { dirname } from '../path.js';
import { codedError } from './errors.js';
import { readModule, resolve } from './module-loader.js';

const CONDITIONS = ['node', 'import', 'module-sync'];
const PREFIX = 'there is no package ';
const MAX_REEXPORTS = 100;

function missing(name, hasPackages) {
  if (!hasPackages) {
    return `'${name.slice(0, 100)}': packages are disabled for this run (inject_setup is false); available: "std", "os", Node.js modules and files by path, such as "./name.js"`;
  }
  const text = host.loadPackage(name, 0);
  return typeof text === 'string' && text.startsWith(PREFIX) ? text.slice(PREFIX.length) : `'${name}'`;
}

/** The full name of the module `name` that `base` imports. */
export function resolveImport(base, name, hasPackages) {
  if (
    name === 'sandbox:modules' ||
    (name.startsWith('sandbox:require-') && base.startsWith('sandbox:require-'))
  )
    return name;
  const from = base.startsWith('/') ? base : '/app/main.js';
  const found = resolve(name, from, CONDITIONS);
  if (found?.node !== undefined) return found.node;
  if (found?.path !== undefined) return found.path;
  if (found?.package !== undefined && hasPackages) {
    loadOnce(found.package);
    return found.package;
  }
  if (name.startsWith('node:'))
    throw codedError(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
  if (!/^(?:\/|\.\.?\/|file:)/.test(name)) {
    throw moduleError(`could not load module ${missing(name, hasPackages)}`);
  }
  const path = name.startsWith('file:')
    ? new URL(name).pathname
    : new URL(name, `file://${dirname(from)}/`).pathname;
  throw moduleError(`could not load module '${decodeURIComponent(path)}': no such file`);
}

function moduleError(message) {
  const error = new ReferenceError(message);
  error.code = 'ERR_MODULE_NOT_FOUND';
  Object.defineProperty(error, 'code', { enumerable: false });
  return error;
}

function wrapper(expression, names) {
  const list = names.filter((name) => name !== 'default');
  const picked = list.map((name, i) => `const _${i} = whole?.[${JSON.stringify(name)}];`).join('');
  const exported = [...list.map((name, i) => `_${i} as ${JSON.stringify(name)}`), 'whole as default'];
  return `import { nodeModule, commonJs } from 'sandbox:modules'; const whole = ${expression};${picked}export { ${exported.join(', ')} };`;
}

/** The names that a CommonJS module exports, as far as they can be determined without running it. */
function exportedNames(text, file, seen) {
  if (seen.size >= MAX_REEXPORTS || seen.has(file)) return [];
  seen.add(file);
  let found;
  try {
    found = load('node:internal/cjs-lexer').parse(text);
  } catch {
    return [];
  }
  const names = [...found.exports];
  for (const name of found.reexports) {
    const target = resolve(name, file, ['node', 'require']);
    if (target?.node !== undefined) names.push(...Object.keys(load(target.node)));
    if (target?.path === undefined) continue;
    const module = readModule(target.path);
    if (module.format === 'commonjs') names.push(...exportedNames(module.text, target.path, seen));
  }
  return [...new Set(names)];
}

/** Sets the properties of import.meta in a module that uses it, on its first line, so that lines do not change. */
function withMeta(text, file) {
  if (!text.includes('import.meta')) return text;
  const values = { dirname: dirname(file), filename: file, url: `file://${encodeURI(file)}` };
  const source = `Object.assign(import.meta, ${JSON.stringify(values)});`;
  return `${source}${text.replace(/^#!.*/, '')}`;
}

export function importSource(name) {
  if (nodeModule(name) === name) {
    return wrapper(`nodeModule(${JSON.stringify(name)})`, Object.keys(load(name)));
  }
  const { format, text } = readModule(name);
  if (format === 'module') return withMeta(text, name);
  const load_ = `commonJs(${JSON.stringify(name)})`;
  return wrapper(load_, format === 'json' ? [] : exportedNames(text, name, new Set()));
}
