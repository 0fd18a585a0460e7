/**
 * The tools that a caller offers, validated and normalised. The catalogue is plain data that is sent to guests; its size is
 * limited, and its names are identifiers in every language.
 */
import { Slices } from '../concurrency/slices.ts';
import { invalidArgument, SandboxError } from '../errors.ts';
import { formatBytes, formatCount } from '../quantities.ts';
import type { JsonSchema } from './schema-validator.ts';
import { identifierFor } from './tool-names.ts';
import { type DataCheck, readSchema, type ToolSchema } from './tool-schema.ts';

export const MAX_TOOLS = 1000;
const MAX_NAMESPACE_DEPTH = 4;
const MAX_NAME_CHARS = 128;
export const MAX_DESCRIPTION_CHARS = 4000;
const MAX_CATALOG_BYTES = 4 * 1024 * 1024;

/** Information that a tool receives about a call. */
export interface ToolContext {
  /** Aborted when the call times out or the run is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Identifies the call. Use it as an idempotency key. If the same call is made again, it has the same id. This happens
   * after a resume that was rolled back, undone or interrupted, and in a fork or a restored checkpoint of a paused
   * program. Every other call has a different id.
   */
  readonly call_id: string;
  /** Number of the call in its run, starting at 1. */
  readonly seq: number;
  /** Name of the session. Undefined if the program does not run in a session. */
  readonly session_id: string | undefined;
  /**
   * Leaves the call unanswered. The program pauses, and `resume` answers the call later. `metadata.pending` contains the
   * payload, whose JSON can be at most 64 KiB long. This method throws an exception, which the tool must not catch.
   */
  suspend(payload?: unknown): never;
  /** The same as `call_id`, under its name in the AI SDK. */
  readonly toolCallId: string;
  /** The same as `signal`, under its name in the AI SDK. */
  readonly abortSignal: AbortSignal;
  /** Always empty. Tools of the AI SDK expect this list. */
  readonly messages: never[];
}

/** A tool without schemas: a function that receives one object with the arguments. */
// biome-ignore lint/suspicious/noExplicitAny: the schema determines the type of the arguments
export type ToolFunction = (args: any, context: ToolContext) => unknown;

/** A tool with its schemas and limits. Tools of the AI SDK have this form. */
export interface ToolDefinition {
  /** What the tool does and returns, for the model that writes programs. */
  readonly description?: string | undefined;
  /** Schema of the arguments. They are checked before `execute` is called. */
  readonly inputSchema?: ToolSchema | undefined;
  /** Schema of the result. The result is checked before the program receives it. */
  readonly outputSchema?: ToolSchema | undefined;
  /**
   * Runs the tool. If this function is missing, a call pauses the program until `resume` answers the call. If the program
   * cannot pause, the call fails.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema determines the type of the arguments
  execute?(args: any, context: ToolContext): unknown;
  /** Whether a person has to approve calls. Default: false. */
  readonly needsApproval?:
    | boolean
    // biome-ignore lint/suspicious/noExplicitAny: the schema determines the type of the arguments
    | ((args: any, context: any) => boolean | PromiseLike<boolean>)
    | undefined;
  /** Maximum time of one call in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of calls to this tool per run. Default: no limit. */
  readonly maxCalls?: number | undefined;
}

/** Tools by name. A nested record is a namespace. Maximum: 1,000 tools and 4 levels. */
export interface ToolRecord {
  readonly [name: string]: ToolFunction | ToolDefinition | ToolRecord;
}

/**
 * The tools that programs can call: a record of tools and namespaces, or a `Toolset`. A `ToolSet` of the AI SDK is a
 * valid record.
 */
export type ToolsOption = ToolRecord | Toolset;

/** A tool as programs see it. */
export interface ToolDescription {
  /** Original names of the namespaces and of the tool, joined with dots. */
  readonly name: string;
  /** The same names as identifiers. Programs use them to access the tool. */
  readonly path: readonly string[];
  /** What the tool does and returns. */
  readonly description: string;
  /** Schema of the arguments. Null if there is no schema, or if it has no JSON form. */
  readonly input_schema: JsonSchema | null;
  /** Schema of the result. Null if there is no schema, or if it has no JSON form. */
  readonly output_schema: JsonSchema | null;
}

/** @internal A tool with everything that a call needs. */
export interface OfferedTool {
  readonly description: ToolDescription;
  readonly definition: ToolDefinition;
  readonly input: DataCheck | undefined;
  readonly output: DataCheck | undefined;
}

/** Called with the namespaces and the name of a tool that is left out. */
type OnSkip = (names: readonly string[], reason: string) => void;

/** A validated set of tools. */
export class Toolset {
  /** The descriptions of the tools, sorted by name. */
  readonly catalog: readonly ToolDescription[];
  /** @internal The catalogue as it is sent to a worker. */
  readonly catalogJson: string;
  readonly #builder: ToolsetBuilder;

  private constructor(builder: ToolsetBuilder) {
    this.#builder = builder;
    const sorted = [...builder.tools.values()].sort((a, b) =>
      a.description.name < b.description.name ? -1 : 1,
    );
    this.catalog = sorted.map(({ description }) => description);
    this.catalogJson = `[${sorted.map((tool) => builder.texts.get(tool)).join(',')}]`;
  }

  /** Creates a set of tools. Throws `invalid_argument` if a tool is invalid or the set is too large. */
  static from(tools: ToolsOption): Toolset {
    if (tools instanceof Toolset) return tools;
    if (!isRecord(tools)) throw invalid('must be an object that maps names to tools or namespaces');
    const builder = new ToolsetBuilder();
    for (const _ of builder.add(tools));
    return new Toolset(builder);
  }

  /**
   * @internal Like `from`, but leaves out tools that are invalid, have the name of an earlier tool or exceed a limit. Takes
   * several turns of the event loop.
   */
  static async fromUsable(
    namespaces: Record<string, Record<string, ToolDefinition>>,
    onSkip: OnSkip,
  ): Promise<Toolset> {
    const builder = new ToolsetBuilder(onSkip);
    const slices = new Slices();
    for (const _ of builder.add(namespaces)) await slices.pause();
    return new Toolset(builder);
  }

  /** @internal The tool with this original name, or with this path joined with dots. */
  find(name: string): OfferedTool | undefined {
    return this.#builder.tools.get(name) ?? this.#builder.byPath.get(name);
  }
}

/** Validates tools one by one. */
class ToolsetBuilder {
  readonly tools = new Map<string, OfferedTool>();
  readonly byPath = new Map<string, OfferedTool>();
  /** The descriptions as JSON. */
  readonly texts = new Map<OfferedTool, string>();
  #catalogBytes = 0;

  constructor(readonly onSkip?: OnSkip) {}

  /** Adds all tools; yields after each of them. */
  add(tools: ToolRecord): Generator<undefined, void> {
    return this.#addAll(tools, [], [], 0);
  }

  *#addAll(
    tools: ToolRecord,
    names: readonly string[],
    path: readonly string[],
    depth: number,
  ): Generator<undefined, void> {
    if (depth >= MAX_NAMESPACE_DEPTH)
      throw invalid(`namespaces are nested more than ${MAX_NAMESPACE_DEPTH} levels deep`);
    const taken = new Set<string>();
    for (const [name, tool] of Object.entries(tools)) {
      const what = [...names, name].join('.').slice(0, 200);
      if (name === '' || name.length > MAX_NAME_CHARS || hasControlCharacters(name))
        throw invalid(`"${what}": a name must have 1 to ${MAX_NAME_CHARS} printable characters`);
      const identifier = identifierFor(name, taken, depth === 0);
      taken.add(identifier);
      yield;
      if (isTool(tool)) this.#addOrSkip(tool, [...names, name], [...path, identifier]);
      else if (isRecord(tool)) yield* this.#addAll(tool, [...names, name], [...path, identifier], depth + 1);
      else throw invalid(`"${what}": must be a function, an object with "execute", or a namespace`);
    }
  }

  #addOrSkip(tool: ToolFunction | ToolDefinition, names: readonly string[], path: readonly string[]): void {
    try {
      this.#add(tool, names, path);
    } catch (cause) {
      if (this.onSkip === undefined || !(cause instanceof SandboxError)) throw cause;
      this.onSkip(names, cause.message);
    }
  }

  #add(tool: ToolFunction | ToolDefinition, names: readonly string[], path: readonly string[]): void {
    const name = names.join('.');
    if (this.tools.size >= MAX_TOOLS) throw invalid(`at most ${formatCount(MAX_TOOLS)} tools are allowed`);
    if (this.tools.has(name)) throw invalid(`two tools have the name "${name}"`);
    const definition: ToolDefinition = typeof tool === 'function' ? { execute: tool } : tool;
    checkDefinition(definition, name);
    const { description = '', inputSchema, outputSchema } = definition;
    const input =
      inputSchema === undefined ? undefined : readSchema(inputSchema, `tools."${name}".inputSchema`);
    const output =
      outputSchema === undefined ? undefined : readSchema(outputSchema, `tools."${name}".outputSchema`);
    const offered = {
      description: {
        name,
        path,
        description: description.slice(0, MAX_DESCRIPTION_CHARS),
        input_schema: input?.json ?? null,
        output_schema: output?.json ?? null,
      },
      definition,
      input,
      output,
    };
    const text = JSON.stringify(offered.description);
    const bytes = this.#catalogBytes + Buffer.byteLength(text) + 1;
    if (bytes > MAX_CATALOG_BYTES)
      throw invalid(
        `the descriptions and schemas are longer than ${formatBytes(MAX_CATALOG_BYTES)}. Offer fewer tools`,
      );
    this.#catalogBytes = bytes;
    this.tools.set(name, offered);
    this.byPath.set(path.join('.'), offered);
    this.texts.set(offered, text);
  }
}

function isTool(value: unknown): value is ToolFunction | ToolDefinition {
  if (typeof value === 'function') return true;
  if (!isRecord(value)) return false;
  return typeof value['execute'] === 'function' || Object.hasOwn(value, 'inputSchema');
}

function isRecord(value: unknown): value is ToolRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkDefinition(definition: ToolDefinition, name: string): void {
  const { description, execute, needsApproval, timeoutMs, maxCalls } = definition;
  const expect = (isValid: boolean, field: string, text: string) => {
    if (!isValid) throw invalid(`"${name}".${field}: ${text}`);
  };
  const isType = (value: unknown, ...types: string[]) => value === undefined || types.includes(typeof value);
  expect(isType(description, 'string'), 'description', 'must be a string');
  expect(isType(execute, 'function'), 'execute', 'must be a function');
  expect(isType(needsApproval, 'boolean', 'function'), 'needsApproval', 'must be a boolean or a function');
  const isTime = timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1);
  expect(isTime, 'timeoutMs', 'must be a positive number of milliseconds');
  const isCount = maxCalls === undefined || (Number.isSafeInteger(maxCalls) && maxCalls >= 0);
  expect(isCount, 'maxCalls', 'must be a non-negative integer');
}

function hasControlCharacters(name: string): boolean {
  return [...name].some((c) => c < ' ' || c === '\u007f');
}

function invalid(problem: string): SandboxError {
  return invalidArgument(`tools: ${problem}.`);
}
