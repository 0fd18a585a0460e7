/**
 * Patterns of paths: `*` and `?` match within one name, `**` across names, and `[...]` one character of a set. A model chooses
 * patterns, so the time is proportional to the lengths of pattern and path, whatever they are.
 */

import { formatItems, SandboxError } from '@llm-wasm-sandbox/core/internal';

const MAX_CHARS = 256;

/** Characters whose steps are remembered. */
const MAX_KNOWN = 256;

interface Step {
  /** Whether the step takes a character. */
  readonly takes: (char: string) => boolean;
  /** Whether it can take more than one. */
  readonly isRepeated: boolean;
  /** How many steps the match can skip without a character; it can also skip one. 0: the step takes a character. */
  readonly skip: 0 | 1 | 3;
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
  const skips = Uint8Array.from(steps, ({ skip }) => skip);
  const moves = Uint8Array.from(steps, ({ isRepeated }) => (isRepeated ? 0 : 1));
  const known = new Map<string, Uint8Array>();
  const takenBy = (char: string) => {
    let taken = known.get(char);
    if (taken !== undefined) return taken;
    if (known.size === MAX_KNOWN) known.clear();
    taken = Uint8Array.from(steps, ({ takes }) => (takes(char) ? 1 : 0));
    known.set(char, taken);
    return taken;
  };
  // 1 for each step that comes next in one of the ways to match what was read. Plain arrays of bytes: this loop decides the speed.
  let current = new Uint8Array(steps.length + 1);
  let next = new Uint8Array(steps.length + 1);
  return (path) => {
    current.fill(0)[0] = 1;
    addSkipped(current, skips);
    for (const char of path) {
      const taken = takenBy(char);
      next.fill(0);
      let isPossible = false;
      for (let at = 0; at < moves.length; at++) {
        if ((current[at]! & taken[at]!) === 0) continue;
        next[at + moves[at]!] = 1;
        isPossible = true;
      }
      if (!isPossible) return false;
      addSkipped(next, skips);
      [current, next] = [next, current];
    }
    return current[steps.length] === 1;
  };
}

/** Adds the steps that can follow without a character. All of them come later. */
function addSkipped(reached: Uint8Array, skips: Uint8Array): void {
  for (let at = 0; at < skips.length; at++) {
    if (reached[at] === 0 || skips[at] === 0) continue;
    reached[at + 1] = 1;
    reached[at + skips[at]!] = 1;
  }
}

/** The parts of a pattern, without those that add nothing to the one before. */
function tokensOf(pattern: string): string[] {
  const tokens: string[] = [];
  for (const [token] of pattern.matchAll(/\*\*\/|\*\*|\[[^\]]+\]|[\s\S]/gu)) {
    const before = tokens.at(-1);
    if (before === '**' && ['*', '**', '**/'].includes(token)) continue;
    if (before === '**/' && token === '**/') continue;
    if (before === '**/' && token === '**') tokens.pop();
    tokens.push(token);
  }
  return tokens;
}

function stepsOf(pattern: string): Step[] {
  const steps: Step[] = [];
  const one = (takes: Step['takes']) => steps.push({ takes, isRepeated: false, skip: 0 });
  const many = (takes: Step['takes']) => steps.push({ takes, isRepeated: true, skip: 1 });
  for (const token of tokensOf(pattern)) {
    // Any number of folders: nothing, or characters that end with a slash.
    if (token === '**/') {
      steps.push({ takes: () => false, isRepeated: false, skip: 3 });
      many(any);
      one((char) => char === '/');
    } else if (token === '**') many(any);
    else if (token === '*') many(notSlash);
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
