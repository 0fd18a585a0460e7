/** The committed programs are those of their manifests, import only what the contract has, and stay small. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Program {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly commands: readonly string[];
  readonly licence: string;
  readonly asyncify: boolean;
  readonly sources: readonly { readonly archive: string; readonly sha256: string }[];
}

const ROOT = new URL('../../', import.meta.url);
/** Bytes of the programs of a folder. */
const FOLDERS = { programs: 7_000_000, 'packages/bash': 11_000_000 };
/** A call is a system call of Emscripten or WASI, or one of the kernel's process calls. */
const PROCESS_CALLS = ['die', 'exec', 'fork', 'suspend', 'getpid', 'getppid', 'kill', 'spawn', 'wait'].map(
  (name) => `env.__sb_${name}`,
);
const SYSTEM_CALL = /^(env\.(__syscall_\w+|_\w+_js|emscripten_\w+)|wasi_snapshot_preview1\.\w+)$/;
const FREE_LICENCES =
  /^(0BSD|MIT|SMLNJ|BSD-[23]-Clause|ICU|blessing|bzip2-1\.0\.6|Info-ZIP)( AND (BSD-2-Clause|ICU|Zlib))*$/;

const read = (path: string) => readFileSync(new URL(path, ROOT));

describe.each(Object.entries(FOLDERS))('%s', (folder, maxBytes) => {
  const manifest = JSON.parse(read(`${folder}/manifest.json`).toString()) as {
    programs: Program[];
    imports: string[];
  };
  const sources = JSON.parse(read('programs/build/sources.json').toString()) as {
    path: string;
    sha256: string;
  }[];

  it('has exactly the files of the manifest, with their digests', () => {
    const files = readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith('.wasm'));
    expect(files.sort()).toEqual(manifest.programs.map(({ file }) => file).sort());
    for (const { file, bytes, sha256 } of manifest.programs) {
      const content = read(`${folder}/${file}`);
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
    }
    expect(manifest.programs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(maxBytes);
  });

  it('names the pinned source and the licence of each program', () => {
    for (const { name, sources: archives, licence } of manifest.programs) {
      for (const { archive, sha256 } of archives) {
        expect(sources.find(({ path }) => path.endsWith(archive))?.sha256).toBe(sha256);
      }
      expect(existsSync(new URL(`${folder}/licences/${name}.txt`, ROOT))).toBe(true);
      if (folder === 'programs') expect(licence).toMatch(FREE_LICENCES);
    }
  });

  it('has no command twice', () => {
    const commands = manifest.programs.flatMap((program) => program.commands);
    expect(new Set(commands).size).toBe(commands.length);
  });

  it('imports system calls and process calls only, and exports the entry', () => {
    const imports = new Set<string>();
    for (const { file, asyncify, commands } of manifest.programs) {
      if (commands.length === 0) continue;
      const module = new WebAssembly.Module(read(`${folder}/${file}`));
      for (const { module: from, name } of WebAssembly.Module.imports(module)) imports.add(`${from}.${name}`);
      const exports = WebAssembly.Module.exports(module).map(({ name }) => name);
      expect(exports).toEqual(
        expect.arrayContaining(['__wasm_call_ctors', '__stack_pointer', 'malloc', 'run']),
      );
      expect(exports.includes('asyncify_start_unwind')).toBe(asyncify);
    }
    expect([...imports].sort()).toEqual(manifest.imports);
    expect(
      manifest.imports.filter((name) => !SYSTEM_CALL.test(name) && !PROCESS_CALLS.includes(name)),
    ).toEqual([]);
  });
});
