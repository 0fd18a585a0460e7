/**
 * Who reads guidance, and what they can change. Rules state what to change as data; `forReader` renders the texts of a result
 * once more for a reader other than the caller of the library.
 */
import { formatLiteral } from '../quantities.ts';
import type { RuntimeName } from '../schema.ts';

export type RaisableLimit =
  | 'fuel_budget'
  | 'timeout_seconds'
  | 'memory_bytes'
  | 'stdout_max_bytes'
  | 'workspace_max_bytes'
  | 'workspace_max_files';

/** What a program can be given besides its code. */
export type InputName = 'files' | 'stdin' | 'args';

export interface GuidanceReader {
  /** What to write for a higher limit; undefined if the reader cannot raise this limit to this value. */
  raise(limit: RaisableLimit, value: number, language: RuntimeName): string | undefined;
  /** How to pass an input, after "pass it with"; undefined if the caller of the library decides. */
  readonly inputs: Partial<Readonly<Record<InputName, string>>>;
  /** The reader has sessions, and the tool create_session that the fixed lines of docs/specification.md name. */
  readonly hasSessions: boolean;
  readonly hasFuelAnalysis: boolean;
  /** Who can permit HTTP requests, and how. */
  permitNetwork(pattern: string): string;
  /** The reader can add packages. */
  readonly isOperator?: boolean;
}

export const LIBRARY_READER: GuidanceReader = {
  raise: (limit, value) => `policy.${limit}=${formatLiteral(value)}`,
  inputs: {},
  hasSessions: true,
  hasFuelAnalysis: true,
  permitNetwork: (pattern) =>
    `Access over HTTP can be permitted: policy: { network: { allow: ['${pattern}'] } }`,
};

/** A line of advice, or one that depends on the reader. Lines that are undefined are left out. */
export type AdviceLine = string | undefined | ((reader: GuidanceReader) => string | undefined);

const INPUTS = /\bthe (files|stdin|args) option(?: of the call)?/g;

export function renderLines(lines: readonly AdviceLine[], reader: GuidanceReader): string[] {
  return lines
    .map((line) => (typeof line === 'function' ? line(reader) : line))
    .filter((line) => line !== undefined && line !== '')
    .map((line) => line!.replace(INPUTS, (text, input: InputName) => reader.inputs[input] ?? text));
}

const versions = new WeakMap<object, (reader: GuidanceReader) => object>();

/** Renders a block of a result for the caller of the library, and remembers how to render it for others. */
export function renderable<T extends object>(render: (reader: GuidanceReader) => T): T {
  const block = render(LIBRARY_READER);
  versions.set(block, render);
  return block;
}

/** The block for a reader. A block that comes from another process stays as it is. */
export function forReader<T extends object>(block: T, reader: GuidanceReader): T {
  return (versions.get(block)?.(reader) ?? block) as T;
}
