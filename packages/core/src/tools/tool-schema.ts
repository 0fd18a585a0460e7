/** The schemas of a tool: Standard Schema (Zod, Valibot, ArkType), schemas of the AI SDK and JSON Schema, in one form. */
import { SandboxError } from '../errors.ts';
import { type JsonSchema, SchemaError, SchemaValidator } from './schema-validator.ts';

/** A schema from a library that implements the Standard Schema specification, such as Zod, Valibot or ArkType. */
export interface StandardSchema {
  /** The properties that the specification defines. */
  readonly '~standard': {
    /** Version of the specification. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
  };
}

/** The result of checking a value against a Standard Schema: the value, or the issues found. */
export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One reason why a value does not match a Standard Schema. */
export interface StandardIssue {
  /** The reason. */
  readonly message: string;
  /** The path of the invalid part within the value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema that the function `jsonSchema()` of the AI SDK returns. */
export interface AiSdkSchema {
  /** The JSON Schema. */
  readonly jsonSchema: unknown;
}

/** A schema of arguments or results: a Standard Schema, a JSON Schema, or a schema of the AI SDK. */
export type ToolSchema = StandardSchema | AiSdkSchema | { readonly [keyword: string]: unknown } | boolean;

/** A schema that validates data. */
export interface DataCheck {
  /** The schema as JSON; null if its library cannot convert it. */
  readonly json: JsonSchema | null;
  /** Returns the value, which the schema may have converted, or what is wrong with it. */
  check(value: unknown): Promise<{ readonly value: unknown } | { readonly problem: string }>;
}

const MAX_PROBLEMS = 5;

/** Reads a schema. `what` names it in errors. Throws `SandboxError` with the code `invalid_argument`. */
export function readSchema(schema: unknown, what: string): DataCheck {
  if (isStandard(schema)) return { json: jsonOf(schema), check: (value) => checkStandard(schema, value) };
  const isAiSdk = typeof schema === 'object' && schema !== null && Object.hasOwn(schema, 'jsonSchema');
  const json = isAiSdk ? (schema as AiSdkSchema).jsonSchema : schema;
  try {
    // A copy: the caller may change the object later. Anything but JSON data fails here.
    const validator = new SchemaValidator(JSON.parse(JSON.stringify(json ?? null)) as JsonSchema);
    return {
      json: validator.schema,
      check: async (value) => {
        const problem = await validator.problemOf(value);
        return problem === undefined ? { value } : { problem };
      },
    };
  } catch (cause) {
    const reason = cause instanceof SchemaError ? cause.message : 'it is not JSON data';
    throw new SandboxError(
      'invalid_argument',
      `${what}: the schema cannot be used: ${reason}. Pass a Standard Schema or a JSON Schema without this part.`,
      { cause },
    );
  }
}

function isStandard(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard = (schema as Partial<StandardSchema>)['~standard'];
  return typeof standard?.validate === 'function';
}

async function checkStandard(
  schema: StandardSchema,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { problem: result.issues.slice(0, MAX_PROBLEMS).map(issueText).join('; ') };
}

function issueText({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}

/** The JSON Schema of a Standard Schema, from the standard extension or from a method of the library. */
function jsonOf(schema: StandardSchema): JsonSchema | null {
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: { input?: (options: object) => unknown } };
  const { toJSONSchema, toJsonSchema } = schema as { toJSONSchema?: unknown; toJsonSchema?: unknown };
  const converters = [
    () => jsonSchema?.input?.({ target: 'draft-2020-12' }),
    () => (typeof toJSONSchema === 'function' ? toJSONSchema.call(schema) : undefined),
    () => (typeof toJsonSchema === 'function' ? toJsonSchema.call(schema) : undefined),
  ];
  for (const convert of converters) {
    try {
      const json: unknown = convert();
      if (typeof json === 'object' && json !== null) return JSON.parse(JSON.stringify(json)) as JsonSchema;
    } catch {
      // Part of the schema has no JSON Schema equivalent. The schema still validates arguments.
    }
  }
  return null;
}
