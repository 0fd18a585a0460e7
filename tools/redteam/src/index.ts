/** The attacks, and what replays them. */
export { ATTACKS } from './corpus/index.ts';
export { describeAttack, jsonReport, textReport } from './report.ts';
export { runAttacks } from './run-attacks.ts';
