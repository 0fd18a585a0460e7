import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { HOST_SIGNATURES } from '../../packages/core/src/runtimes/python/syscalls/host-signatures.ts';
import { EXTERNAL_KIND } from '../../packages/core/src/wasm/binary-format.ts';
import { parseModule } from '../../packages/core/src/wasm/parse-module.ts';
import { testKernel } from './test-kernel.ts';

const binary = createRequire(import.meta.url).resolve('pyodide/pyodide.asm.wasm');

test('the types of the host functions are those with which the interpreter imports them', () => {
  const { imports, types, functionTypes } = parseModule(readFileSync(binary));
  const functions = imports.filter(({ kind }) => kind === EXTERNAL_KIND.function);
  const imported = new Map(
    functions.map(({ module, name }, i) => [`${module}.${name}`, types[functionTypes[i]!]!.signature]),
  );
  const differing = [...HOST_SIGNATURES].filter(
    ([name, type]) => imported.has(name) && imported.get(name) !== type,
  );
  expect(differing).toEqual([]);
  // Only the functions that libraries use and the interpreter does not are missing.
  const missing = [...HOST_SIGNATURES.keys()].filter((name) => !imported.has(name));
  expect(missing.filter((name) => !/^env\.(emscripten_|_Unwind_|__asctime_r$)/.test(name))).toEqual([]);
});

test('every host function has a type', () => {
  const names = new Set([...HOST_SIGNATURES.keys()].map((name) => name.slice(name.indexOf('.') + 1)));
  const { hostFunctions } = testKernel();
  expect(Object.keys(hostFunctions).filter((name) => !names.has(name))).toEqual([]);
});
