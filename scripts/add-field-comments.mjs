/**
 * Copies the descriptions of schema fields into the declaration files of packages/core/dist/schema/ as comments, so that editors show
 * them. The types are inferred from the schemas, and TypeScript keeps the comments of the fields that a type is inferred
 * from.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `schemas` are the exports of packages/core/dist/schema.js; `folder` contains their declaration files. */
export function addFieldComments(folder, schemas) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.d.ts'));
  const counts = files.map((name) => annotateFile(join(folder, name), schemas));
  if (counts.every((count) => count === 0)) throw new Error(`${folder} declares no described field.`);
}

/** Returns the number of comments that were added. */
function annotateFile(path, schemas) {
  const before = readFileSync(path, 'utf8').split('\n');
  let shape;
  const after = before.flatMap((line) => {
    const [, name] = /^(?:export )?declare const (\w+): z\.ZodObject<\{$/.exec(line) ?? [];
    if (name !== undefined) {
      if (schemas[name] === undefined)
        throw new Error(`${path}: ${name} has to be exported, so that its fields are described.`);
      shape = schemas[name].shape;
    } else if (/^\S/.test(line)) shape = undefined;
    const [, field] = /^ {4}(\w+): /.exec(line) ?? [];
    const description = shape?.[field]?.description;
    return description === undefined ? [line] : [`    /** ${description} */`, line];
  });
  writeFileSync(path, after.join('\n'));
  return after.length - before.length;
}
