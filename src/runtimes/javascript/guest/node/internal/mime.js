/** `util.MIMEType` and `util.MIMEParams`: parsing and serializing of the WHATWG standard, with the errors of Node.js. */
import { codedError } from './errors.js';

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/g;
const NOT_QUOTED = /[^\t\u0020-~\u0080-\u00ff]/g;
const START_SPACE = /[^\r\n\t ]|$/;
const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const trimEnd = (text) => {
  let end = text.length;
  while (end > 0 && '\r\n\t '.includes(text[end - 1])) end--;
  return text.slice(0, end);
};
const firstMatch = (pattern, text) => {
  pattern.lastIndex = 0;
  return pattern.exec(text)?.index ?? -1;
};

function invalid(production, text, at) {
  const place = at < 0 ? '' : ` at ${at}`;
  return codedError(
    TypeError,
    'ERR_INVALID_MIME_SYNTAX',
    `The MIME syntax for a ${production} in "${text}" is invalid${place}`,
  );
}

/** The type and the subtype of a text, and the position after them. */
function parseEssence(text) {
  const start = text.search(START_SPACE);
  const slash = text.indexOf('/', start);
  const rawType = slash < 0 ? text.slice(start) : text.slice(start, slash);
  const badType = firstMatch(NOT_TOKEN, rawType);
  if (rawType === '' || slash < 0 || badType >= 0)
    throw invalid('type', text, badType < 0 ? -1 : start + badType);
  const semicolon = text.indexOf(';', slash + 1);
  const end = semicolon < 0 ? text.length : semicolon;
  const subtype = trimEnd(text.slice(slash + 1, end));
  const badSubtype = firstMatch(NOT_TOKEN, subtype);
  if (subtype === '' || badSubtype >= 0) throw invalid('subtype', text, badSubtype < 0 ? -1 : badSubtype);
  return { type: lower(rawType), subtype: lower(subtype), rest: text.slice(end) };
}

/** A text in quotes at the start of `text`: its value and its length. */
function parseQuoted(text) {
  let value = '';
  let at = 1;
  while (at < text.length && text[at] !== '"') {
    if (text[at] === '\\' && at + 1 < text.length) at++;
    value += text[at];
    at++;
  }
  return { value, length: Math.min(at + 1, text.length) };
}

function parseParameters(text, params) {
  let at = 0;
  while (at < text.length) {
    at++;
    at += text.slice(at).search(START_SPACE);
    const name = /^[^;=]*/.exec(text.slice(at))[0];
    at += name.length;
    if (text[at] !== '=') continue;
    at++;
    let value;
    if (text[at] === '"') {
      const quoted = parseQuoted(text.slice(at));
      value = quoted.value;
      at += quoted.length;
      at += /^[^;]*/.exec(text.slice(at))[0].length;
    } else {
      const raw = /^[^;]*/.exec(text.slice(at))[0];
      at += raw.length;
      value = trimEnd(raw);
      if (value === '') continue;
    }
    const key = lower(name);
    const isValid = key !== '' && firstMatch(NOT_TOKEN, key) < 0 && firstMatch(NOT_QUOTED, value) < 0;
    if (isValid && !params.has(key)) params.set(key, value);
  }
}

export class MIMEParams {
  #values = new Map();

  delete(name) {
    this.#values.delete(name);
  }
  get(name) {
    return this.#values.get(name) ?? null;
  }
  has(name) {
    return this.#values.has(name);
  }
  set(name, value) {
    const [key, text] = [`${name}`, `${value}`];
    const badName = firstMatch(NOT_TOKEN, key);
    if (key === '' || badName >= 0) throw invalid('parameter name', key, badName);
    const badValue = firstMatch(NOT_QUOTED, text);
    if (badValue >= 0) throw invalid('parameter value', text, badValue);
    this.#values.set(key, text);
  }
  *entries() {
    yield* this.#values.entries();
  }
  *keys() {
    yield* this.#values.keys();
  }
  *values() {
    yield* this.#values.values();
  }
  toString() {
    const quoted = (value) =>
      value === '' || firstMatch(NOT_TOKEN, value) >= 0 ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
    return [...this.#values].map(([name, value]) => `${name}=${quoted(value)}`).join(';');
  }
  toJSON() {
    return this.toString();
  }
}
Object.defineProperty(MIMEParams.prototype, Symbol.iterator, {
  value: MIMEParams.prototype.entries,
  writable: true,
  configurable: true,
  enumerable: false,
});

export class MIMEType {
  #type;
  #subtype;
  #params = new MIMEParams();

  constructor(input) {
    const { type, subtype, rest } = parseEssence(`${input}`);
    this.#type = type;
    this.#subtype = subtype;
    parseParameters(rest, this.#params);
  }
  get type() {
    return this.#type;
  }
  set type(value) {
    const text = `${value}`;
    const bad = firstMatch(NOT_TOKEN, text);
    if (text === '' || bad >= 0) throw invalid('type', text, bad);
    this.#type = lower(text);
  }
  get subtype() {
    return this.#subtype;
  }
  set subtype(value) {
    const text = `${value}`;
    const bad = firstMatch(NOT_TOKEN, text);
    if (text === '' || bad >= 0) throw invalid('subtype', text, bad);
    this.#subtype = lower(text);
  }
  get essence() {
    return `${this.#type}/${this.#subtype}`;
  }
  get params() {
    return this.#params;
  }
  toString() {
    const params = this.#params.toString();
    return params === '' ? this.essence : `${this.essence};${params}`;
  }
  toJSON() {
    return this.toString();
  }
}
