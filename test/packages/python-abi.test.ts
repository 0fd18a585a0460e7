import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import {
  NATIVE_PLATFORM,
  NATIVE_TAGS,
  PYTHON_FULL_VERSION,
} from '../../packages/core/src/packages/python-abi.ts';

test('version and tags are those of the pinned binary', () => {
  const path = createRequire(import.meta.url).resolve('pyodide/pyodide-lock.json');
  const { info } = JSON.parse(readFileSync(path, 'utf8')) as { info: Record<string, string> };
  expect(PYTHON_FULL_VERSION).toBe(info['python']);
  expect(NATIVE_PLATFORM).toBe(`pyemscripten_${info['abi_version']}_${info['arch']}`);
  expect(NATIVE_TAGS).toBe('cp314-pyemscripten_2026_0_wasm32');
});
