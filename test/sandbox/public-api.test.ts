/** What the package exports, and what its types allow. The compiler checks the types of this file. */
import { readdirSync, readFileSync } from 'node:fs';
import * as api from 'llm-wasm-sandbox';
import {
  createPool,
  createSandbox,
  memoryStore,
  openSessions,
  type Sandbox,
  type Session,
} from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';

describe('createSandbox', () => {
  it('returns a Session if the options ask for one, and otherwise a Sandbox, which has no methods of sessions', async () => {
    await using plain = await createSandbox({ runtime: 'javascript' });
    await using named = await createSandbox({
      runtime: 'javascript',
      session_id: 'api',
      store: memoryStore(),
    });
    const sandbox: Sandbox = plain;
    const session: Session = named;
    // @ts-expect-error Only sessions have checkpoints.
    expect(sandbox.checkpoint).toBeUndefined();
    expect(session.checkpoint).toBeTypeOf('function');
  });
});

describe('objects that can be closed', () => {
  it('can be disposed', async () => {
    await using pool = createPool();
    await using registry = openSessions();
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    for (const closable of [pool, registry, sandbox]) {
      expect(closable.close).toBeTypeOf('function');
      expect(closable[Symbol.asyncDispose]).toBeTypeOf('function');
    }
  });
});

describe('exports', () => {
  it('include no class that only the library can construct', () => {
    const isClass = (value: unknown) => typeof value === 'function' && /^class\b/.test(String(value));
    const classes = Object.entries(api).flatMap(([name, value]) => (isClass(value) ? [name] : []));
    expect(classes).toEqual(['SandboxError', 'ToolError', 'Toolset']);
  });

  it('have types without internal members', () => {
    const types = new URL('../../packages/core/types/', import.meta.url);
    const files = readdirSync(types, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    expect(files).toContain('index.d.ts');
    const internal = /@internal|\b(SandboxParts|mountSet|withRuntime|committedRecord)\b/;
    expect(files.filter((name) => internal.test(readFileSync(new URL(name, types), 'utf8')))).toEqual([]);
  });
});
