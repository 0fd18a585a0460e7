/** util.parseArgs. */
import { codedError, invalidArgType, invalidArgValue, validateObject } from './errors.js';

const unknown = (name, allowPositionals) => {
  const advice = allowPositionals
    ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(name)}`
    : '';
  return codedError(TypeError, 'ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${name}'${advice}`);
};
const invalid = (message) => codedError(TypeError, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE', message);

function tokenize(args, options) {
  const tokens = [];
  const shortName = (letter) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
  const takesValue = (name) => options[name]?.type === 'string';
  const queue = args.map((text, index) => ({ text, index }));
  while (queue.length > 0) {
    const { text, index } = queue.shift();
    if (text === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const rest of queue) tokens.push({ kind: 'positional', index: rest.index, value: rest.text });
      break;
    }
    const take = (name, rawName, inline) => {
      if (inline !== undefined)
        return tokens.push({ kind: 'option', name, rawName, index, value: inline, inlineValue: true });
      if (takesValue(name) && queue.length > 0)
        return tokens.push({
          kind: 'option',
          name,
          rawName,
          index,
          value: queue.shift().text,
          inlineValue: false,
        });
      return tokens.push({ kind: 'option', name, rawName, index, value: undefined, inlineValue: undefined });
    };
    if (text.startsWith('--')) {
      const equals = text.indexOf('=', 3);
      if (equals < 0) take(text.slice(2), text);
      else take(text.slice(2, equals), text.slice(0, equals), text.slice(equals + 1));
    } else if (text.startsWith('-') && text.length > 2 && !takesValue(shortName(text[1]))) {
      const expanded = [];
      for (let i = 1; i < text.length; i++) {
        const isLast = i === text.length - 1;
        if (!isLast && takesValue(shortName(text[i]))) {
          expanded.push({ text: `-${text.slice(i)}`, index });
          break;
        }
        expanded.push({ text: `-${text[i]}`, index });
      }
      queue.unshift(...expanded);
    } else if (text.startsWith('-') && text.length > 1) {
      const name = shortName(text[1]);
      take(name, text.slice(0, 2), text.length > 2 ? text.slice(2) : undefined);
    } else tokens.push({ kind: 'positional', index, value: text });
  }
  return tokens;
}

function checkOption(token, options, { strict, allowPositionals, allowNegative }) {
  const { name, rawName, value, inlineValue } = token;
  if (!strict) return;
  const option = options[name];
  if (option === undefined) {
    if (allowNegative && name.startsWith('no-') && options[name.slice(3)]?.type === 'boolean') return;
    throw unknown(rawName, allowPositionals);
  }
  const label = `${option.short ? `-${option.short}, ` : ''}--${name}`;
  if (option.type === 'string' && typeof value !== 'string')
    throw invalid(`Option '${label} <value>' argument missing`);
  if (option.type === 'boolean' && value !== undefined && value !== null)
    throw invalid(`Option '${label}' does not take an argument`);
  if (option.type === 'string' && !inlineValue && value.length > 1 && value.startsWith('-')) {
    const example = rawName.startsWith('--') ? `'${rawName}=-XYZ'` : `'--${name}=-XYZ' or '${rawName}-XYZ'`;
    throw invalid(
      `Option '${rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${rawName}'?\nTo specify an option argument starting with a dash use ${example}.`,
    );
  }
}

export function parseArgs(config = {}) {
  const args = config.args ?? globalThis.process.argv.slice(2);
  const {
    options = {},
    strict = true,
    allowPositionals = !strict,
    allowNegative = false,
    tokens: wantsTokens = false,
  } = config;
  if (!Array.isArray(args)) throw invalidArgType('args', 'Array', args);
  validateObject(options, 'options');
  for (const [name, option] of Object.entries(options)) {
    validateObject(option, `options.${name}`);
    if (option.type !== 'string' && option.type !== 'boolean') {
      throw invalidArgType(`options.${name}.type`, "('string'|'boolean')", option.type);
    }
    if (option.short !== undefined && option.short.length !== 1) {
      throw invalidArgValue(`options.${name}.short`, option.short, 'must be a single character');
    }
  }
  const values = { __proto__: null };
  const positionals = [];
  const tokens = tokenize(args, options);
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (!allowPositionals) {
        throw codedError(
          TypeError,
          'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL',
          `Unexpected argument '${token.value}'. This command does not take positional arguments`,
        );
      }
      positionals.push(token.value);
    }
    if (token.kind !== 'option') continue;
    checkOption(token, options, { strict, allowPositionals, allowNegative });
    let { name, value } = token;
    value ??= true;
    if (allowNegative && name.startsWith('no-') && token.value === undefined)
      [name, value] = [name.slice(3), false];
    if (name === '__proto__') continue;
    if (options[name]?.multiple) {
      values[name] ??= [];
      values[name].push(value);
    } else values[name] = value;
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  }
  return { values, positionals, ...(wantsTokens && { tokens }) };
}
