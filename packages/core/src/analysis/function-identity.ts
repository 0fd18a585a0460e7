/** Identity of the functions in the stacks of a profile. */
import type { StackFrame } from './run-profile-schema.ts';

export const functionKey = ({ file, function: name }: StackFrame) => JSON.stringify([file, name]);

/** Functions without a name that run inside the function that calls them: comprehensions and callbacks. */
export const isNested = ({ function: name }: StackFrame) => /(?:^|\.)<(?!module|eval|lambda)\w+>$/.test(name);

/** The code of the program outside its functions, whose variables are global. */
export const isMain = ({ function: name }: StackFrame) => name === '<module>' || name === '<eval>';

/** The largest depth of a recorded state. Separate from the schema of a profile, which worker threads do not load. */
export const MAX_STACK_DEPTH = 5_000;
