/** The corpus: all attacks with their ids. It ships with the package, and the tests run the same rows. */
import { RUNTIME_NAMES } from '@llm-wasm-sandbox/core/internal';
import { type Attack, type AttackTable, CATEGORIES, type Category } from '../attack.ts';
import { ESCAPES_JAVASCRIPT } from './escape-attacks-javascript.ts';
import { ESCAPES_PYTHON } from './escape-attacks-python.ts';
import { HOST } from './host-attacks.ts';
import { HOST_MEMORY } from './host-memory-attacks.ts';
import { LIMITS } from './limit-attacks.ts';
import { NETWORK } from './network-attacks.ts';
import { PACKAGES } from './package-attacks.ts';
import { SERVER } from './server-attacks.ts';
import { SESSIONS } from './session-attacks.ts';
import { TOOLS } from './tool-attacks.ts';
import { TRUTH } from './truth-attacks.ts';

const TABLES: Readonly<Record<Category, AttackTable>> = {
  escape: { python: ESCAPES_PYTHON, javascript: ESCAPES_JAVASCRIPT },
  limits: LIMITS,
  truth: TRUTH,
  session: SESSIONS,
  tools: TOOLS,
  network: NETWORK,
  packages: PACKAGES,
  server: SERVER,
  host: HOST,
  host_memory: HOST_MEMORY,
};

/** The attacks of a table in the order of its rows. */
export function attacksOf(category: Category, table: AttackTable): Attack[] {
  return ([...RUNTIME_NAMES, 'any'] as const).flatMap((key) =>
    (table[key] ?? []).map((row) => ({
      ...row,
      id: `${category}/${key}/${row.name}`,
      category,
      runtime: key === 'any' ? undefined : key,
    })),
  );
}

export const ATTACKS: readonly Attack[] = CATEGORIES.flatMap((category) =>
  attacksOf(category, TABLES[category]),
);
