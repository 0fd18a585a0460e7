/**
 * Patterns of paths: `*` and `?` match within one name, `**` across names, and `[...]` one character of a set. A model chooses
 * patterns, so the time is proportional to the lengths of pattern and path, whatever they are.
 */

import { SandboxError } from '../../errors.ts';
import { formatItems } from '../../quantities.ts';

const MAX_CHARS = 256;

interface Step {
  /** Whether the step takes a character. */
  readonly takes: (char: string) => boolean;
  /** Whether it can take more than one. */
  readonly isRepeated: boolean;
  /** Steps that can follow without a character. */
  readonly skips: readonly number[];
}

const notSlash = (char: string) => char !== '/';
const any = () => true;

/** Returns a function that compares paths with a pattern. Throws `invalid_argument` if the pattern is too long. */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern.length > MAX_CHARS) {
    const fact = `The pattern has ${formatItems(pattern.length, 'character')}, and the limit is ${MAX_CHARS}`;
    throw new SandboxError('invalid_argument', `${fact}. Use a shorter pattern.`);
  }
  const steps = stepsOf(pattern);
  const reach = (from: ReadonlySet<number>) => {
    const reached = new Set(from);
    for (const at of reached) for (const skip of steps[at]?.skips ?? []) reached.add(at + skip);
    return reached;
  };
  return (path) => {
    let current = reach(new Set([0]));
    for (const char of path) {
      const next = new Set<number>();
      for (const at of current) {
        const step = steps[at];
        if (step?.takes(char) !== true) continue;
        next.add(step.isRepeated ? at : at + 1);
      }
      current = reach(next);
    }
    return current.has(steps.length);
  };
}

function stepsOf(pattern: string): Step[] {
  const steps: Step[] = [];
  const one = (takes: Step['takes']) => steps.push({ takes, isRepeated: false, skips: [] });
  const many = (takes: Step['takes'], skips: readonly number[]) =>
    steps.push({ takes, isRepeated: true, skips });
  for (const [token] of pattern.matchAll(/\*\*\/|\*\*|\[[^\]]+\]|[\s\S]/gu)) {
    // Any number of folders: nothing, or characters that end with a slash.
    if (token === '**/') {
      steps.push({ takes: () => false, isRepeated: false, skips: [1, 3] });
      many(any, [1]);
      one((char) => char === '/');
    } else if (token === '**') many(any, [1]);
    else if (token === '*') many(notSlash, [1]);
    else if (token === '?') one(notSlash);
    else if (token.length > 2 && token.startsWith('[')) one(setOf(token.slice(1, -1)));
    else one((char) => char === token);
  }
  return steps;
}

/** The characters of a set such as `a-z_`, or all others if it starts with `!` or `^`. */
function setOf(text: string): (char: string) => boolean {
  const isNegated = /^[!^]./u.test(text);
  const ranges = [...(isNegated ? text.slice(1) : text).matchAll(/(.)-(.)|(.)/gsu)].map(
    ([, from, to, single]) => [from ?? single!, to ?? single!] as const,
  );
  return (char) => notSlash(char) && ranges.some(([from, to]) => from <= char && char <= to) !== isNegated;
}
