/** Maximum tokens of a tool's description and parameter descriptions; "*" applies to all other tools. */
export { policy } from '../../packages/core/src/schema.ts';

export const PROMPT_BUDGETS: Readonly<Record<string, number>> = {
  execute_code: 600,
  create_session: 600,
  '*': 150,
};
