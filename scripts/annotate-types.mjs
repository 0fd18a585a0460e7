/**
 * Copies the descriptions of schema fields into dist/schema.d.ts as comments, so that editors show them. The types are
 * inferred from the schemas, and TypeScript keeps the comments of the fields that a type is inferred from.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** `schemas` are the exports of dist/schema.js; `path` is its declaration file. */
export function annotateTypes(path, schemas) {
  let shape;
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name] = /^export declare const (\w+): z\.ZodObject<\{$/.exec(line) ?? [];
      if (name !== undefined) shape = schemas[name]?.shape;
      else if (/^\S/.test(line)) shape = undefined;
      const [, field] = /^ {4}(\w+): /.exec(line) ?? [];
      const description = shape?.[field]?.description;
      return description === undefined ? [line] : [`    /** ${description} */`, line];
    });
  writeFileSync(path, lines.join('\n'));
}
