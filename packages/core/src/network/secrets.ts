/**
 * Secrets that programs use without seeing them. A program has a placeholder; the secret replaces it when a request is sent to a host
 * that may receive it, and only in one header. Responses that contain the secret get the placeholder back.
 */
import { randomBytes } from 'node:crypto';
import { Slices } from '../concurrency/slices.ts';
import { invalidArgument } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { isPlaceholder, PLACEHOLDER_PREFIX as PREFIX } from '../schema/placeholders.ts';
import { parseUrlPattern, permits, type UrlPattern } from '../schema/url-pattern.ts';
import type { NetworkPolicy, NetworkSecret } from '../schema.ts';
import { repeatsItself, roughLength, SecretScan, SecretSearch } from './secret-search.ts';
import type { HeaderList, WireRequest } from './wire-request.ts';

/** Bytes that are searched without a pause. */
const STEP_BYTES = 1024;
/** Headers that ask for a part of a response, which could be a part of a secret. */
const RANGE_HEADERS = ['range', 'if-range'];

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

const VALUE =
  /^[\u0021-\u007e\u0080-\u00ff](?:[\u0020-\u007e\u0080-\u00ff]{6,1022})[\u0021-\u007e\u0080-\u00ff]$/;

/** Why a text cannot be a secret, or undefined. */
function problemOf(value: string | undefined, env: string | undefined): string | undefined {
  if (value === undefined) return `the environment variable ${env} is not set`;
  if (!VALUE.test(value)) return 'it must have 8 to 1,024 characters, without control characters';
  if (repeatsItself(value)) return 'it repeats itself too often to be found in responses in a short time';
  return undefined;
}

/**
 * The value of a secret. It is read from the environment of the host when the sandbox is created. A secret
 * that is not sent needs no value; a random one stands for it.
 */
function readValue(name: string, { value, env }: NetworkSecret, isSent: boolean): string {
  const found = value ?? process.env[env ?? ''] ?? (isSent ? undefined : randomBytes(16).toString('hex'));
  const problem = problemOf(found, env);
  if (problem === undefined) return found!;
  throw invalidArgument(`policy.network.secrets.${name}: ${problem}.`);
}

export class Secrets {
  readonly #secrets: readonly Secret[];
  #placeholders: Readonly<Record<string, string>> = {};
  #search: SecretSearch | undefined;

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
    this.#search = undefined;
  }

  /** Preparing it takes a while, and most programs receive nothing. */
  #newScan(): SecretScan {
    this.#search ??= new SecretSearch(
      this.#secrets.map(({ name, value }) => ({ value, replacement: this.#placeholders[name]! })),
    );
    return new SecretScan(this.#search);
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
    );
    return text.replace(encoded, () => changed.toString('base64'));
  }

  /** Texts of a response, such as headers, with placeholders instead of secrets. */
  async hideIn(texts: readonly string[]): Promise<string[]> {
    const scan = this.#newScan();
    const slices = new Slices();
    const hidden: string[] = [];
    for (const text of texts) {
      const parts: Uint8Array[] = [];
      for await (const part of scanned([Buffer.from(text, 'latin1')], scan, slices)) parts.push(part);
      hidden.push(Buffer.concat(parts).toString('latin1'));
    }
    return hidden;
  }

  async hideInHeaders(headers: HeaderList): Promise<HeaderList> {
    const shown = headers.filter(([name]) => name.toLowerCase() !== 'content-length');
    const hidden = await this.hideIn(shown.flat());
    return shown.map((_, i) => [hidden[2 * i]!, hidden[2 * i + 1]!]);
  }

  /** A body with placeholders instead of secrets, also of those that are divided between pieces. */
  hideInBody(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return scanned(body, this.#newScan(), new Slices());
  }
}

async function* scanned(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  scan: SecretScan,
  slices: Slices,
): AsyncGenerator<Uint8Array> {
  for await (const part of body)
    for (let at = 0; at < part.length; at += STEP_BYTES) {
      const bytes = scan.add(part.subarray(at, at + STEP_BYTES));
      if (bytes.length > 0) yield bytes;
      await slices.pause();
    }
  const rest = scan.end();
  if (rest.length > 0) yield rest;
}
