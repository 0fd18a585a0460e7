/**
 * Counts the steps of a backtracking matcher, which is how V8 runs regular expressions, so that tests need no clock. Reads
 * the syntax that this project uses, and derives hostile texts from a pattern: beginnings of a match followed by many
 * repetitions of a part that can repeat.
 */

type Node =
  | { readonly type: 'char'; readonly test: (char: string) => boolean; readonly samples: readonly string[] }
  | { readonly type: 'sequence' | 'choice'; readonly items: readonly Node[] }
  | { readonly type: 'group'; readonly body: Node; readonly index: number }
  | {
      readonly type: 'repeat';
      readonly body: Node;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    }
  | { readonly type: 'ahead'; readonly body: Node; readonly negative: boolean }
  | { readonly type: 'assertion'; readonly holds: (text: string, at: number) => boolean }
  | { readonly type: 'reference'; readonly index: number };

/** Characters from which the samples of a class are chosen. */
const CANDIDATES = [
  'a',
  'A',
  '1',
  ' ',
  '\n',
  '\t',
  '\u2028',
  '_',
  '.',
  ',',
  '/',
  '\\',
  '"',
  "'",
  '`',
  '[',
  ']',
  '(',
  '=',
  '-',
  '{',
  ':',
  '\0',
];
const MAX_SAMPLES = 6;

class Parser {
  #at = 0;
  #groups = 0;

  constructor(
    readonly source: string,
    readonly flags: string,
  ) {}

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.source.length) throw new Error(`cannot read ${this.source} at ${this.#at}`);
    return node;
  }

  #choice(): Node {
    const items = [this.#sequence()];
    while (this.#take('|')) items.push(this.#sequence());
    return items.length === 1 ? items[0]! : { type: 'choice', items };
  }

  #sequence(): Node {
    const items: Node[] = [];
    while (this.#at < this.source.length && !'|)'.includes(this.source[this.#at]!))
      items.push(this.#quantified());
    return { type: 'sequence', items };
  }

  #quantified(): Node {
    const body = this.#atom();
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(this.source.slice(this.#at));
    if (found === null) return body;
    this.#at += found[0].length;
    const lazy = this.#take('?');
    const [text, least, comma, most] = found;
    if (text === '*') return { type: 'repeat', body, min: 0, max: Infinity, lazy };
    if (text === '+') return { type: 'repeat', body, min: 1, max: Infinity, lazy };
    if (text === '?') return { type: 'repeat', body, min: 0, max: 1, lazy };
    const max = comma === '' ? Number(least) : most === '' ? Infinity : Number(most);
    return { type: 'repeat', body, min: Number(least), max, lazy };
  }

  #atom(): Node {
    if (this.#take('(?:')) return this.#closed();
    if (this.#take('(?=')) return { type: 'ahead', body: this.#closed(), negative: false };
    if (this.#take('(?!')) return { type: 'ahead', body: this.#closed(), negative: true };
    if (this.#take('(?<!') || this.#take('(?<=')) return this.#behind(this.source[this.#at - 1] === '!');
    if (this.#take('(')) {
      const index = ++this.#groups;
      return { type: 'group', index, body: this.#closed() };
    }
    if (this.#take('^')) {
      const multiline = this.flags.includes('m');
      return {
        type: 'assertion',
        holds: (text, at) => at === 0 || (multiline && /[\n\r\u2028\u2029]/.test(text[at - 1]!)),
      };
    }
    if (this.#take('$')) {
      const multiline = this.flags.includes('m');
      return {
        type: 'assertion',
        holds: (text, at) => at === text.length || (multiline && /[\n\r\u2028\u2029]/.test(text[at]!)),
      };
    }
    if (this.#take('\\b')) return this.#boundary(true);
    if (this.#take('\\B')) return this.#boundary(false);
    const reference = /^\\([1-9])/.exec(this.source.slice(this.#at));
    if (reference !== null) {
      this.#at += 2;
      return { type: 'reference', index: Number(reference[1]) };
    }
    return this.#character();
  }

  #closed(): Node {
    const node = this.#choice();
    if (!this.#take(')')) throw new Error(`unclosed group in ${this.source}`);
    return node;
  }

  /** Lookbehinds of this project are one character long. */
  #behind(negative: boolean): Node {
    const body = this.#closed();
    const one = body.type === 'sequence' && body.items.length === 1 ? body.items[0]! : body;
    if (one.type !== 'char') throw new Error(`unsupported lookbehind in ${this.source}`);
    return { type: 'assertion', holds: (text, at) => (at > 0 && one.test(text[at - 1]!)) !== negative };
  }

  #boundary(wanted: boolean): Node {
    const isWord = (char: string | undefined) => char !== undefined && /\w/.test(char);
    return { type: 'assertion', holds: (text, at) => (isWord(text[at - 1]) !== isWord(text[at])) === wanted };
  }

  #character(): Node {
    const rest = this.source.slice(this.#at);
    const found =
      /^\[(?:[^\]\\]|\\.)*\]/s.exec(rest) ??
      /^\\(?:p\{[^}]*\}|P\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)/s.exec(rest) ??
      /^./s.exec(rest)!;
    this.#at += found[0].length;
    const flags = this.flags.replace(/[gym]/g, '');
    const pattern = new RegExp(`^(?:${found[0]})$`, flags);
    const test = (char: string) => pattern.test(char);
    const named = [...found[0].replaceAll(/\\[a-zA-Z]/g, '')];
    return {
      type: 'char',
      test,
      samples: [...new Set([...named, ...CANDIDATES])].filter(test).slice(0, MAX_SAMPLES),
    };
  }

  #take(text: string): boolean {
    if (!this.source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}

const parsed = new Map<RegExp, Node>();

function nodeOf(regex: RegExp): Node {
  let node = parsed.get(regex);
  if (node === undefined) {
    node = new Parser(regex.source, regex.flags).parse();
    parsed.set(regex, node);
  }
  return node;
}

/** The number of steps to search for one match in a text, or for all if the pattern is global. */
export function countSteps(regex: RegExp, text: string): number {
  let steps = 0;
  const groups: (readonly [number, number])[] = [];

  const match = (node: Node, at: number, next: (at: number) => number): number => {
    steps++;
    switch (node.type) {
      case 'char':
        return at < text.length && node.test(text[at]!) ? next(at + 1) : -1;
      case 'sequence': {
        const from = (i: number, position: number): number =>
          i === node.items.length
            ? next(position)
            : match(node.items[i]!, position, (end) => from(i + 1, end));
        return from(0, at);
      }
      case 'choice': {
        for (const item of node.items) {
          const end = match(item, at, next);
          if (end >= 0) return end;
        }
        return -1;
      }
      case 'group': {
        const before = groups[node.index];
        const end = match(node.body, at, (position) => {
          groups[node.index] = [at, position];
          return next(position);
        });
        if (end < 0) groups[node.index] = before!;
        return end;
      }
      case 'repeat': {
        const from = (count: number, position: number): number => {
          const again = () =>
            count >= node.max
              ? -1
              : match(node.body, position, (end) =>
                  end === position && count >= node.min ? -1 : from(count + 1, end),
                );
          if (count < node.min) return again();
          if (node.lazy) {
            const end = next(position);
            return end >= 0 ? end : again();
          }
          const end = again();
          return end >= 0 ? end : next(position);
        };
        return from(0, at);
      }
      case 'ahead':
        return match(node.body, at, (end) => end) >= 0 !== node.negative ? next(at) : -1;
      case 'assertion':
        return node.holds(text, at) ? next(at) : -1;
      case 'reference': {
        const [start, end] = groups[node.index] ?? [0, 0];
        const wanted = text.slice(start, end);
        return text.startsWith(wanted, at) ? next(at + wanted.length) : -1;
      }
    }
  };

  const node = nodeOf(regex);
  for (let start = 0; start <= text.length; ) {
    const end = match(node, start, (at) => at);
    if (regex.sticky || (end >= 0 && !regex.global)) break;
    start = end > start ? end : start + 1;
  }
  return steps;
}

/** A short text that the node matches, with the `choice`th sample of each class. */
function sample(node: Node, choice = 0): string {
  switch (node.type) {
    case 'char':
      return node.samples.length === 0 ? '' : node.samples[choice % node.samples.length]!;
    case 'sequence':
      return node.items.map((item) => sample(item, choice)).join('');
    case 'choice':
      return sample(node.items[choice % node.items.length]!, choice);
    case 'group':
      return sample(node.body, choice);
    case 'repeat':
      return sample(node.body, choice).repeat(Math.max(node.min, 1));
    default:
      return '';
  }
}

/** The repeatable parts of a pattern, each after a text that leads to it. */
function* repeats(node: Node, prefix: string): Generator<{ prefix: string; body: Node }> {
  switch (node.type) {
    case 'sequence': {
      let before = prefix;
      for (const item of node.items) {
        yield* repeats(item, before);
        before += item.type === 'repeat' && item.min === 0 ? '' : sample(item);
      }
      return;
    }
    case 'choice':
      for (const item of node.items) yield* repeats(item, prefix);
      return;
    case 'group':
    case 'ahead':
      yield* repeats(node.body, prefix);
      return;
    case 'repeat':
      if (node.max > 1) yield { prefix, body: node.body };
      yield* repeats(node.body, prefix);
  }
}

const SUFFIXES = ['', '\0', '\n', '\u2028', '!\n'];
const COMMON_PIECES = ['\n', ' ', 'a', '1', '//', '/', '"', '\\', '(', '\u2028'];

/** Texts that are hard for a pattern, each as a function of the number of repetitions. */
export function hostileTexts(regex: RegExp): ((count: number) => string)[] {
  const node = nodeOf(regex);
  const whole = sample(node);
  const found = [...repeats(node, '')];
  const pieces = new Set([...COMMON_PIECES, whole, whole.slice(0, -1), `${whole}\n`]);
  const texts: ((count: number) => string)[] = [];
  for (const { prefix, body } of found) {
    for (let choice = 0; choice < MAX_SAMPLES; choice++) {
      const piece = sample(body, choice);
      if (piece === '') continue;
      pieces.add(piece).add(prefix + piece);
      for (const suffix of SUFFIXES) {
        texts.push((count) => prefix + piece.repeat(count) + suffix);
        texts.push((count) => (prefix + piece).repeat(count) + suffix);
      }
    }
  }
  for (const piece of pieces) {
    if (piece === '') continue;
    for (const suffix of SUFFIXES) texts.push((count) => piece.repeat(count) + suffix);
  }
  return texts;
}
