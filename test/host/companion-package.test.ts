/** The files of the companion package, as a folder that LLM_WASM_SANDBOX_COMPANION names. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sha256Hex } from '../../packages/core/src/framing/digest.ts';
import {
  companionPath,
  readCompanionFile,
  unpackCompanionFile,
  verifyCompanion,
} from '../../packages/core/src/host/companion-package.ts';
import { readCachedInParts } from '../../packages/core/src/host/disk-cache.ts';
import { folderOfTest } from '../support/folders.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const PLAIN = 'packages/packages.json';
const PACKED = 'cache/images/key.br';
const CONTENT = Buffer.from('contents '.repeat(1000));

let folder: string;

function writeFile(path: string, bytes: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}

function writeCompanion(manifest: object = {}): void {
  const packed = brotliCompressSync(CONTENT);
  writeFile(PLAIN, '{}');
  writeFile(PACKED, packed);
  const files = {
    [PLAIN]: { sha256: sha256Hex('{}') },
    [PACKED]: { sha256: sha256Hex(packed), bytes: CONTENT.length },
  };
  writeFile('manifest.json', JSON.stringify({ sandbox: version, files, ...manifest }));
}

beforeEach(() => {
  folder = folderOfTest();
  vi.stubEnv('LLM_WASM_SANDBOX_COMPANION', folder);
  vi.stubEnv('LLM_WASM_SANDBOX_CACHE', join(folder, 'own'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the companion package', () => {
  test('has the files in its manifest', async () => {
    writeCompanion();
    expect(readCompanionFile(PLAIN, 100)?.toString()).toBe('{}');
    expect(companionPath('packages/other')).toBeUndefined();
    expect(Buffer.from((await readCachedInParts('images', 'key'))!)).toEqual(CONTENT);
    expect(await readCachedInParts('images', 'other')).toBeUndefined();
    expect(verifyCompanion()).toMatchObject({ version, problem: null });
  });

  test('is not there if the variable is empty', async () => {
    vi.stubEnv('LLM_WASM_SANDBOX_COMPANION', '');
    expect(verifyCompanion()).toBeUndefined();
    expect(await unpackCompanionFile(PACKED)).toBeUndefined();
  });

  test('is refused if a file does not match its digest or its size', async () => {
    writeCompanion();
    writeFile(PLAIN, '[]');
    expect(() => readCompanionFile(PLAIN, 100)).toThrow(
      `The file ${PLAIN} of @llm-wasm-sandbox/science is damaged: its SHA-256 is not the one in manifest.json. ` +
        'Install @llm-wasm-sandbox/science again',
    );
    expect(verifyCompanion()?.problem).toContain(PLAIN);
    for (const bytes of ['', 'x', brotliCompressSync('other'), brotliCompressSync(Buffer.alloc(1_000_000))]) {
      writeFile(PACKED, bytes);
      await expect(readCachedInParts('images', 'key')).rejects.toMatchObject({ code: 'image_invalid' });
    }
    rmSync(join(folder, PLAIN));
    expect(() => readCompanionFile(PLAIN, 100)).toThrow(/is damaged: ENOENT/);
  });

  test.each([
    [
      'is for another version',
      { sandbox: '999.0.0' },
      /is for version 999\.0\.0 .* npm install @llm-wasm-san/,
    ],
    ['has a damaged manifest', { files: { x: {} } }, /manifest\.json .* invalid value at files\.x\.sha256/],
  ])('is refused if it %s', (_, manifest, message) => {
    writeCompanion(manifest);
    expect(() => companionPath(PLAIN)).toThrow(message);
  });
});
