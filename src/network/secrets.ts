/**
 * Secrets that programs use without seeing them. A program has a placeholder; the secret replaces it when a request is sent to a host
 * that may receive it, and only in one header. Responses that contain the secret get the placeholder back.
 */
import { randomBytes } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { isPlaceholder, PLACEHOLDER_PREFIX as PREFIX } from '../schema/placeholders.ts';
import { parseUrlPattern, permits, type UrlPattern } from '../schema/url-pattern.ts';
import type { NetworkPolicy, NetworkSecret } from '../schema.ts';
import type { HeaderList, WireRequest } from './wire-request.ts';

/** Encoded user names and passwords whose echo is replaced. */
const MAX_CREDENTIALS = 64;
/** Headers that ask for a part of a response, which could be a part of a secret. */
const RANGE_HEADERS = ['range', 'if-range'];

/** A program may learn about the length of a secret, but not its exact length. */
const roughLength = (length: number) => Math.ceil(length / 16) * 16;

/** A text of about the length of the secret. With a seed, it is the same every time. */
function newPlaceholder(name: string, length: number, seed: number | undefined): string {
  const size = Math.min(128, Math.max(32, roughLength(length))) - PREFIX.length;
  const random =
    seed === undefined
      ? randomBytes(64).toString('hex')
      : `${sha256Hex(`placeholder ${seed} ${name}`)}${sha256Hex(`placeholder ${name} ${seed}`)}`;
  return `${PREFIX}${random.slice(0, size)}`;
}

interface Secret {
  readonly name: string;
  readonly value: string;
  readonly header: string;
  readonly rules: readonly UrlPattern[];
}

/**
 * The value of a secret. It is read from the environment of the host when the sandbox is created. A secret
 * that is not sent needs no value; a random one stands for it.
 */
function readValue(name: string, { value, env }: NetworkSecret, isSent: boolean): string {
  const found = value ?? process.env[env ?? ''] ?? (isSent ? undefined : randomBytes(16).toString('hex'));
  if (
    found !== undefined &&
    /^[\u0021-\u007e\u0080-\u00ff](?:[\u0020-\u007e\u0080-\u00ff]{6,1022})[\u0021-\u007e\u0080-\u00ff]$/.test(
      found,
    )
  )
    return found;
  const problem =
    found === undefined
      ? `the environment variable ${env} is not set`
      : 'it must have 8 to 1,024 characters, without control characters';
  throw new SandboxError('invalid_argument', `policy.network.secrets.${name}: ${problem}.`);
}

/** A text in base64 inside a longer text: by its place, the characters that do not depend on its neighbours. */
function insideBase64(bytes: Buffer, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding);
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}

/** How libraries write quotation marks in HTML. Some leave one or both as they are. */
const QUOTES = ['"', '&quot;', '&#34;'];
const APOSTROPHES = ["'", '&#39;', '&#x27;', '&#039;', '&apos;'];

/** A text in HTML, in all ways. */
function htmlForms(text: string): string[] {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return QUOTES.flatMap((quote) =>
    APOSTROPHES.map((apostrophe) => escaped.replaceAll('"', quote).replaceAll("'", apostrophe)),
  );
}

/** A text in JSON that is ASCII. */
const asciiJson = (text: string) =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\u0080-\u00ff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A text with percent-encoding of all characters except some. */
const percentEncoded = (bytes: Buffer, kept: RegExp) =>
  bytes
    .toString('latin1')
    .replace(/[\s\S]/g, (one) => (kept.test(one) ? one : `%${Buffer.from(one, 'latin1').toString('hex')}`));

/** The encodings of bytes that do not depend on their meaning. */
function encodingsOf(bytes: Buffer): string[] {
  const percent = [/(?!)/, /[\w.~-]/, /[\w.~/-]/, /[\w.~!*'()-]/].map((kept) => percentEncoded(bytes, kept));
  return [
    bytes.toString('latin1'),
    bytes.toString('base64').replace(/={1,2}$/, ''),
    bytes.toString('base64url'),
    ...insideBase64(bytes, 'base64'),
    ...insideBase64(bytes, 'base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...percent,
    ...percent.map((text) => text.replace(/%[\da-f]{2}/g, (one) => one.toUpperCase())),
    percent[1]!.replaceAll('%20', '+').replace(/%[\da-f]{2}/g, (one) => one.toUpperCase()),
  ];
}

/** The forms in which servers repeat a text, as bytes in Latin-1. None is longer than six times the text. */
function formsOf(text: string): string[] {
  const utf8 = Buffer.from(text).toString('latin1');
  const json = [JSON.stringify(text).slice(1, -1), asciiJson(text)];
  return [
    ...encodingsOf(Buffer.from(text, 'latin1')),
    ...encodingsOf(Buffer.from(text)),
    ...[...json, ...json.map((one) => one.replaceAll('/', '\\/'))].map((one) =>
      Buffer.from(one).toString('latin1'),
    ),
    ...[text, utf8].flatMap(htmlForms),
  ];
}

type Replacement = readonly [from: Buffer, to: Buffer];

export class Secrets {
  readonly #secrets: readonly Secret[];
  #placeholders: Readonly<Record<string, string>> = {};
  #replacements: Replacement[] = [];
  #credentials = 0;
  /** Bytes at the end of what was received that could be the beginning of a secret. The same for all contents. */
  #heldBytes = 0;

  constructor({ secrets, replay }: NetworkPolicy, seed: number | undefined) {
    this.#secrets = Object.entries(secrets).map(([name, secret]) => ({
      name,
      value: readValue(name, secret, replay === undefined),
      header: secret.header.toLowerCase(),
      rules: secret.allow.map((text) => parseUrlPattern(text) as UrlPattern),
    }));
    const made = this.#secrets.map(({ name, value }) => [name, newPlaceholder(name, value.length, seed)]);
    this.use(Object.fromEntries(made));
  }

  get isEmpty(): boolean {
    return this.#secrets.length === 0;
  }

  /** The placeholders by the name of their environment variable. */
  get placeholders(): Readonly<Record<string, string>> {
    return this.#placeholders;
  }

  /** Uses the placeholders that a session already has in its environment, because its variables may contain them. */
  use(env: Readonly<Record<string, string>>): void {
    const known = this.#secrets.map(({ name }) => [
      name,
      isPlaceholder(env[name]) ? env[name]! : this.#placeholders[name]!,
    ]);
    this.#placeholders = Object.fromEntries(known);
    this.#replacements = this.#secrets.flatMap(({ name, value }) => {
      const placeholder = formsOf(this.#placeholders[name]!);
      const forms = formsOf(value).map((form, i) => [form, placeholder[i]!] as const);
      this.#hold(6 * roughLength(value.length));
      return [...new Map(forms).entries()].map(toBuffers);
    });
  }

  #hold(bytes: number): void {
    this.#heldBytes = Math.max(this.#heldBytes, bytes);
  }

  /** The request with the secrets that its host may receive. It asks for a response in which secrets can be found. */
  insert(request: WireRequest): WireRequest {
    if (this.isEmpty) return request;
    const usable = this.#secrets.filter(({ rules }) => rules.some((rule) => permits(rule, request.url)));
    let isChanged = false;
    const headers = request.headers.map(([name, text]) => {
      const value = usable
        .filter(({ header }) => header === name.toLowerCase())
        .reduce((changed, secret) => this.#insertInto(changed, secret), text);
      isChanged ||= value !== text;
      return [name, name.toLowerCase() === 'accept-encoding' ? 'gzip, deflate' : value] as const;
    });
    const isSent = ([name]: readonly [string, string]) =>
      !isChanged || !RANGE_HEADERS.includes(name.toLowerCase());
    return { ...request, headers: headers.filter(isSent) };
  }

  #insertInto(text: string, { name, value }: Secret): string {
    const placeholder = this.#placeholders[name]!;
    const encoded = /^Basic ([\d+/A-Za-z]+={0,2})$/i.exec(text)?.[1];
    if (encoded === undefined) return text.replaceAll(placeholder, () => value);
    const credentials = Buffer.from(encoded, 'base64').toString('latin1');
    if (!credentials.includes(placeholder)) return text;
    const changed = Buffer.from(
      credentials.replaceAll(placeholder, () => value),
      'latin1',
    ).toString('base64');
    if (this.#credentials++ < MAX_CREDENTIALS) {
      const places = credentials.split(placeholder).length - 1;
      this.#hold(2 * (credentials.length + places * roughLength(value.length)));
      this.#replacements.push(toBuffers([changed.replace(/={1,2}$/, ''), encoded.replace(/={1,2}$/, '')]));
    }
    return text.replace(encoded, () => changed);
  }

  /** A text of a response, such as a header, with placeholders instead of secrets. */
  hideIn(text: string): string {
    return this.#replace(Buffer.from(text, 'latin1')).toString('latin1');
  }

  hideInHeaders(headers: HeaderList): HeaderList {
    return headers
      .filter(([name]) => name.toLowerCase() !== 'content-length')
      .map(([name, value]) => [this.hideIn(name), this.hideIn(value)] as const);
  }

  /**
   * A body with placeholders instead of secrets, also of those that are divided between pieces. What is held back does not depend on
   * its contents: otherwise a program could have a server repeat a guess and see whether a secret begins with it.
   */
  async *hideInBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const part of body) {
      const bytes = this.#replace(Buffer.concat([rest, part]));
      const end = Math.max(0, bytes.length - this.#heldBytes);
      rest = bytes.subarray(end);
      if (end > 0) yield bytes.subarray(0, end);
    }
    if (rest.length > 0) yield rest;
  }

  #replace(bytes: Buffer): Buffer {
    let result = bytes;
    for (const [from, to] of this.#replacements) {
      if (!result.includes(from)) continue;
      const parts: Buffer[] = [];
      let at = 0;
      for (let found = result.indexOf(from); found >= 0; found = result.indexOf(from, at)) {
        parts.push(result.subarray(at, found), to);
        at = found + from.length;
      }
      result = Buffer.concat([...parts, result.subarray(at)]);
    }
    return result;
  }
}

const toBuffers = ([from, to]: readonly [string, string]): Replacement => [
  Buffer.from(from, 'latin1'),
  Buffer.from(to, 'latin1'),
];
