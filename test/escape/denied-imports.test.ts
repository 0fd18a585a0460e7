/**
 * Imports of the Python binary that the kernel does not provide. The list is pinned, so that a new version of the binary
 * or a host function added by mistake shows as a difference. Each import is called by name in a real guest.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { Guest } from '../../packages/core/src/engine/guest.ts';
import type { Linkage } from '../../packages/core/src/engine/host-imports.ts';
import { GuestStopped, UNLIMITED_RUN } from '../../packages/core/src/engine/run-context.ts';
import { Volume } from '../../packages/core/src/fs/volume.ts';
import type { RuntimeBuild } from '../../packages/core/src/runtimes/build/runtime-build.ts';
import { build as javascript } from '../../packages/core/src/runtimes/javascript/build/index.ts';
import { build as python } from '../../packages/core/src/runtimes/python/build/index.ts';
import type { Runtime } from '../../packages/core/src/runtimes/runtime.ts';
import { prepareModule } from '../../packages/core/src/wasm/prepare-module.ts';
import { moduleThatCalls } from './single-import-module.ts';

function importsOf({ binary }: RuntimeBuild): { module: string; name: string }[] {
  const bytes = readFileSync(
    createRequire(new URL('../../package.json', import.meta.url)).resolve(binary.specifier),
  );
  return WebAssembly.Module.imports(new WebAssembly.Module(bytes)).filter(({ kind }) => kind === 'function');
}

/** Returns a guest whose only code calls one import, linked like the runtime's own module. */
function calling(runtime: Runtime, module: string, name: string): Guest {
  const prepared = prepareModule(moduleThatCalls(module, name), {
    exports: ['run', '__indirect_function_table'],
  });
  const program = {
    module: new WebAssembly.Module(prepared.bytes as BufferSource),
    minPages: 1,
    stateGlobals: [],
  };
  const { observer: _notInThisModule, ...linkage }: Linkage<Guest> = { ...runtime.linkage, overrides: [] };
  const volume = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);
  return new Guest(program, linkage, { pages: 1, maxPages: 1 }, volume);
}

/** The host functions that a runtime provides, by module. */
function providedBy(runtime: Runtime): Record<string, object> {
  return runtime.linkage.imports(calling(runtime, 'env', 'nothing'));
}

function deniedOf(build: RuntimeBuild): string[] {
  const provided = providedBy(build.runtime);
  return importsOf(build)
    .filter(({ module, name }) => !Object.hasOwn(provided[module] ?? {}, name))
    .map(({ module, name }) => `${module}.${name}`)
    .sort();
}

describe('the Python binary', () => {
  // guarantee: no-bridge
  test('is denied exactly the imports in denied-imports.txt', async () => {
    await expect(deniedOf(python).join('\n')).toMatchFileSnapshot('denied-imports.txt');
  });

  // guarantee: no-bridge
  test.each(deniedOf(python))('stops with denied_call when it calls a denied import: %s', (denied) => {
    const dot = denied.indexOf('.');
    const guest = calling(python.runtime, denied.slice(0, dot), denied.slice(dot + 1));
    guest.beginRun(UNLIMITED_RUN);
    let stop: unknown;
    try {
      guest.call('run');
    } catch (cause) {
      if (!(cause instanceof GuestStopped)) throw cause;
      stop = cause.stop;
    }
    expect(stop).toEqual({
      reason: 'denied_call',
      message: `The guest called ${denied}, which the sandbox does not provide`,
    });
  });

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'])(
    'gets no host function for an import named like an inherited property: %s',
    (name) => {
      const guest = calling(python.runtime, 'env', name);
      guest.beginRun(UNLIMITED_RUN);
      expect(() => guest.call('run')).toThrow(
        expect.objectContaining({ stop: expect.objectContaining({ reason: 'denied_call' }) }),
      );
    },
  );
});

describe('JavaScript binary', () => {
  test('has seven imports, all of them provided', () => {
    expect(deniedOf(javascript)).toEqual([]);
    expect(importsOf(javascript)).toHaveLength(7);
  });
});
