/** Written by scripts/registries.mjs. */
import type { RuntimeName } from '../schema/runtime-names.ts';
import type { AttackPrograms } from './attack-programs.ts';
import { bashAttackPrograms } from './bash/attack-programs.ts';
import { javascriptAttackPrograms } from './javascript/attack-programs.ts';
import { pythonAttackPrograms } from './python/attack-programs.ts';

export const ATTACK_PROGRAMS: Readonly<Record<RuntimeName, AttackPrograms>> = {
  python: pythonAttackPrograms,
  javascript: javascriptAttackPrograms,
  bash: bashAttackPrograms,
};
