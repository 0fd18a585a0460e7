/** How many tokens the words of a tool may cost, parameters included; "*" is for all others. */
export { policy } from '../../src/schema.ts';

export const PROMPT_BUDGETS: Readonly<Record<string, number>> = {
  execute_code: 600,
  create_session: 600,
  '*': 150,
};
