/** The attack programs of each language. */
import type { RuntimeName } from '@llm-wasm-sandbox/core/internal';
import type { AttackPrograms } from './attack-programs.ts';
import { bashAttackPrograms } from './bash.ts';
import { javascriptAttackPrograms } from './javascript.ts';
import { pythonAttackPrograms } from './python.ts';

export const ATTACK_PROGRAMS: Readonly<Record<RuntimeName, AttackPrograms>> = {
  python: pythonAttackPrograms,
  javascript: javascriptAttackPrograms,
  bash: bashAttackPrograms,
};
