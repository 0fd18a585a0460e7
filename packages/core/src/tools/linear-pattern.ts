/**
 * Regular expressions of JSON Schemas, which may come from an untrusted server. A pattern becomes a nondeterministic automaton
 * that is simulated state by state, so a match takes at most (states × characters) steps and never backtracks.
 */

const MAX_STATES = 2000;
const MAX_PATTERN_CHARS = 2000;
/** Limit on the steps that build an automaton. Repetitions of an empty group take steps without adding states. */
const MAX_BUILD_STEPS = 20_000;
/** A character class with this many ranges costs one more step per character. */
const RANGES_PER_STEP = 16;

type CharacterSet = (codePoint: number) => boolean;
type State =
  | { readonly type: 'set'; readonly matches: CharacterSet; readonly cost: number; next: number }
  | { readonly type: 'split'; next: number; other: number }
  | { readonly type: 'start' | 'end'; next: number }
  | { readonly type: 'match' };

/** Takes steps from the caller's budget. Throws when none are left. */
type TakeSteps = (count: number) => void;

const isDigit: CharacterSet = (c) => c >= 48 && c <= 57;
const isWord: CharacterSet = (c) => isDigit(c) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95;
const isSpace: CharacterSet = (c) => c <= 0xffff && /\s/.test(String.fromCharCode(c));
const isLineEnd: CharacterSet = (c) => c === 10 || c === 13 || c === 0x2028 || c === 0x2029;
const not =
  (set: CharacterSet): CharacterSet =>
  (c) =>
    !set(c);

const CLASS_ESCAPES: Readonly<Record<string, CharacterSet>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
  s: isSpace,
  S: not(isSpace),
};
const CONTROL_ESCAPES: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** Syntax that this matcher does not support, such as assertions and back references. */
export class UnsupportedPattern extends Error {}

/** Builds a part of the automaton in front of the state `next`, and returns its first state. */
type Fragment = (next: number) => number;

/** A pattern that can be searched for in linear time. */
export class LinearPattern {
  readonly #states: State[] = [];
  readonly #first: number;
  readonly #characters: readonly string[];
  #at = 0;
  #buildSteps = 0;

  /** Throws `UnsupportedPattern`. */
  constructor(source: string) {
    if (source.length > MAX_PATTERN_CHARS) throw new UnsupportedPattern('the pattern is too long');
    this.#characters = [...source];
    this.#takeBuildSteps(this.#characters.length);
    const whole = this.#alternatives();
    if (this.#at < this.#characters.length) throw new UnsupportedPattern('unbalanced parenthesis');
    this.#first = whole(this.#add({ type: 'match' }));
  }

  /** The number of steps that building the automaton took. */
  get buildSteps(): number {
    return this.#buildSteps;
  }

  /** Whether the pattern occurs anywhere in the text. */
  test(text: string, take: TakeSteps): boolean {
    let current = new Set<number>();
    // The text is read in place, so that a match at its start does not depend on its length.
    for (let at = 0; at <= text.length; ) {
      this.#follow(this.#first, current, at === 0, at === text.length);
      take(current.size + 1);
      const following = new Set<number>();
      const codePoint = text.codePointAt(at);
      const end = at + (codePoint !== undefined && codePoint > 0xffff ? 2 : 1);
      for (const index of current) {
        const state = this.#states[index]!;
        if (state.type === 'match') return true;
        if (state.type !== 'set' || codePoint === undefined) continue;
        take(state.cost);
        if (state.matches(codePoint)) this.#follow(state.next, following, false, end === text.length);
      }
      current = following;
      at = end;
    }
    return false;
  }

  /** Adds a state and all states that are reachable from it without consuming a character. */
  #follow(first: number, into: Set<number>, isStart: boolean, isEnd: boolean): void {
    const waiting = [first];
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (into.has(index)) continue;
      into.add(index);
      const state = this.#states[index]!;
      if (state.type === 'split') waiting.push(state.other, state.next);
      else if ((state.type === 'start' && isStart) || (state.type === 'end' && isEnd))
        waiting.push(state.next);
    }
  }

  #takeBuildSteps(count: number): void {
    this.#buildSteps += count;
    if (this.#buildSteps > MAX_BUILD_STEPS)
      throw new UnsupportedPattern('the pattern has too many repetitions');
  }

  #add(state: State): number {
    this.#takeBuildSteps(1);
    if (this.#states.length >= MAX_STATES) throw new UnsupportedPattern('the pattern has too many states');
    return this.#states.push(state) - 1;
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #alternatives(): Fragment {
    const branches = [this.#sequence()];
    while (this.#accept('|')) branches.push(this.#sequence());
    return (next) => {
      this.#takeBuildSteps(1);
      return branches
        .map((branch) => branch(next))
        .reduceRight((other, first) => this.#add({ type: 'split', next: first, other }));
    };
  }

  #sequence(): Fragment {
    const parts: Fragment[] = [];
    for (let c = this.#peek(); c !== undefined && c !== '|' && c !== ')'; c = this.#peek())
      parts.push(this.#quantified(this.#atom()));
    return (next) => {
      this.#takeBuildSteps(1);
      return parts.reduceRight((after, part) => part(after), next);
    };
  }

  #quantified(part: Fragment): Fragment {
    const range = this.#quantifier();
    if (range === undefined) return part;
    // A lazy quantifier matches the same strings.
    this.#accept('?');
    if (this.#quantifier() !== undefined) throw new UnsupportedPattern('nothing to repeat');
    const { min, max } = range;
    return (next) => {
      this.#takeBuildSteps(1);
      let after = max === undefined ? this.#loop(part, next) : next;
      for (let i = max ?? min; i > min; i--)
        after = this.#add({ type: 'split', next: part(after), other: next });
      for (let i = 0; i < min; i++) after = part(after);
      return after;
    };
  }

  #loop(part: Fragment, next: number): number {
    const split = { type: 'split' as const, next: 0, other: next };
    const index = this.#add(split);
    split.next = part(index);
    return index;
  }

  #quantifier(): { readonly min: number; readonly max: number | undefined } | undefined {
    if (this.#accept('*')) return { min: 0, max: undefined };
    if (this.#accept('+')) return { min: 1, max: undefined };
    if (this.#accept('?')) return { min: 0, max: 1 };
    if (this.#peek() !== '{') return undefined;
    const end = this.#characters.indexOf('}', this.#at);
    const text = this.#characters.slice(this.#at + 1, end < 0 ? undefined : end).join('');
    const found = /^(\d{1,4})(,?)(\d{0,4})$/.exec(text);
    if (end < 0 || found === null) throw new UnsupportedPattern('unescaped "{"');
    this.#at = end + 1;
    const min = Number(found[1]);
    if (found[2] === '') return { min, max: min };
    const max = found[3] === '' ? undefined : Number(found[3]);
    if (max !== undefined && max < min) throw new UnsupportedPattern('numbers out of order in {}');
    return { min, max };
  }

  #atom(): Fragment {
    const c = this.#characters[this.#at++]!;
    if (c === '^' || c === '$') return (next) => this.#add({ type: c === '^' ? 'start' : 'end', next });
    if (c === '(') return this.#group();
    if (c === '.') return this.#set(not(isLineEnd));
    if (c === '[') return this.#characterClass();
    if (c === '\\') return this.#set(this.#escape());
    if ('*+?{}]'.includes(c)) throw new UnsupportedPattern(`unescaped "${c}"`);
    const codePoint = c.codePointAt(0)!;
    return this.#set((other) => other === codePoint);
  }

  #set(matches: CharacterSet, cost = 0): Fragment {
    return (next) => this.#add({ type: 'set', matches, cost, next });
  }

  #group(): Fragment {
    if (this.#accept('?') && !this.#accept(':'))
      throw new UnsupportedPattern('assertions and named groups are not supported');
    const inner = this.#alternatives();
    if (!this.#accept(')')) throw new UnsupportedPattern('unbalanced parenthesis');
    return inner;
  }

  #escape(): CharacterSet {
    const escaped = this.#escapedCharacter();
    return typeof escaped === 'number' ? (c) => c === escaped : escaped;
  }

  /** The character or the set that follows a backslash. */
  #escapedCharacter(): number | CharacterSet {
    const c = this.#characters[this.#at++];
    if (c === undefined) throw new UnsupportedPattern('ends with a backslash');
    const set = Object.hasOwn(CLASS_ESCAPES, c) ? CLASS_ESCAPES[c] : undefined;
    if (set !== undefined) return set;
    if (Object.hasOwn(CONTROL_ESCAPES, c)) return CONTROL_ESCAPES[c]!;
    if (c === 'x' || c === 'u') return this.#hexadecimal(c === 'x' ? 2 : 4);
    if (/[0-9A-Za-z]/.test(c)) throw new UnsupportedPattern(`"\\${c}" is not supported`);
    return c.codePointAt(0)!;
  }

  #hexadecimal(digits: number): number {
    const text = this.#characters.slice(this.#at, this.#at + digits).join('');
    if (text.length !== digits || !/^[0-9A-Fa-f]+$/.test(text))
      throw new UnsupportedPattern('only \\xHH and \\uHHHH are supported');
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #characterClass(): Fragment {
    const isNegated = this.#accept('^');
    const sets: CharacterSet[] = [];
    while (!this.#accept(']')) {
      const low = this.#classCharacter();
      if (this.#peek() !== '-' || this.#characters[this.#at + 1] === ']') {
        sets.push(typeof low === 'number' ? (c) => c === low : low);
        continue;
      }
      this.#at++;
      const high = this.#classCharacter();
      if (typeof low !== 'number' || typeof high !== 'number' || high < low)
        throw new UnsupportedPattern('invalid range in a character class');
      sets.push((c) => c >= low && c <= high);
    }
    const any: CharacterSet = (c) => sets.some((set) => set(c));
    return this.#set(isNegated ? not(any) : any, Math.floor(sets.length / RANGES_PER_STEP));
  }

  #classCharacter(): number | CharacterSet {
    const c = this.#characters[this.#at++];
    if (c === undefined) throw new UnsupportedPattern('unbalanced bracket');
    if (c !== '\\') return c.codePointAt(0)!;
    // In a class, \b is a backspace.
    if (this.#accept('b')) return 8;
    return this.#escapedCharacter();
  }
}
