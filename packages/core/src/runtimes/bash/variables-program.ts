/** The program that lists the variables of a shell. The runtime recognises it and does not evaluate it. */
export const VARIABLES_PROGRAM = ': list the variables of this shell';
