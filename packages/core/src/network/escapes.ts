/**
 * The ways in which servers write a single character: percent-encoding, escapes of JSON and programming languages, references of
 * HTML, quoted-printable and quotation marks. They form one tree, through which a text is read character by character.
 */

/** What some escapes stand for, such as the end of a line that a text continues. */
export const NOTHING = 256;
export const CHARACTERS = 257;
/** Zeros before the number of a reference. */
const MAX_ZEROS = 6;

/** Named references of HTML, after their characters. */
const NAMES =
  '\tTab \nNewLine !excl "quot #num $dollar %percnt &amp \'apos (lpar )rpar *ast +plus ,comma .period /sol :colon ;semi <lt =equals >gt ?quest @commat [lsqb [lbrack \\bsol ]rsqb ]rbrack ^hat _lowbar _underbar `grave {lcub {lbrace |verbar |vert }rcub }rbrace \u00a0nbsp'
    .toLowerCase()
    .split(' ');
const LETTERS: Readonly<Record<number, string>> = { 9: 't', 10: 'n', 13: 'r' };
/** Ends of lines, before which a text can be continued; the next line may be indented. */
const FOR_NOTHING = ['=\n', '=\r\n', '\\\n', '\\\r\n', '\n ', '\n\t'];
/** Forms that begin with a character of most texts. Only texts with these characters have them. */
const COMMON: readonly (readonly [string, string])[] = [
  [' ', '+'],
  ['"', '""'],
  ["'", "''"],
  ["'", "'\\''"],
  ["'", `'"'"'`],
];

/** The forms of a character, in lower case. */
function formsOf(code: number): string[] {
  const character = String.fromCharCode(code);
  const hex = code.toString(16);
  const two = hex.padStart(2, '0');
  const octal = code.toString(8).padStart(3, '0');
  const padded = (digits: string) =>
    Array.from({ length: MAX_ZEROS + 1 }, (_, zeros) => '0'.repeat(zeros) + digits);
  const references = [
    ...padded(String(code)).map((digits) => `&#${digits}`),
    ...padded(hex).map((digits) => `&#x${digits}`),
    ...NAMES.filter((name) => name[0] === character).map((name) => `&${name.slice(1)}`),
  ];
  return [
    ...[`%${two}`, `%u00${two}`, `=${two}`, `\\${two}`, `\\0000${two}`, `\\${octal}`],
    ...[`\\x${two}`, `\\u00${two}`, ...padded(hex).map((digits) => `\\u{${digits}}`)],
    ...references,
    ...references.map((reference) => `${reference};`),
    ...(/[!-/:-@[-`{-~]/.test(character) ? [`\\${character}`] : []),
    ...(LETTERS[code] === undefined ? [] : [`\\${LETTERS[code]}`]),
  ];
}

/** The tree of all forms. Its root is 0. */
export class EscapeTree {
  readonly #next = new Map<number, number>();
  /** The character of each node at which a form ends; -1 for other nodes. */
  readonly #ends: number[] = [-1];

  readonly #begins = new Uint8Array(CHARACTERS);

  private constructor(common: readonly (readonly [string, string])[]) {
    for (let code = 0; code < NOTHING; code++) for (const form of formsOf(code)) this.#add(form, code);
    for (const form of FOR_NOTHING) this.#repeat(this.#add(form, NOTHING), ' \t');
    this.#addIndexes();
    for (const [character, form] of common) this.#add(form, character.charCodeAt(0));
  }

  /** The forms of all characters; the common ones only of those in the texts that are searched for. */
  static for(texts: readonly string[]): EscapeTree {
    const common = COMMON.filter(([character]) => texts.some((text) => text.includes(character)));
    const key = common.join('');
    const known = trees.get(key) ?? new EscapeTree(common);
    trees.set(key, known);
    return known;
  }

  /** A node that remains the same after some characters. */
  #repeat(node: number, characters: string, from = node): void {
    for (const one of characters) this.#next.set(from * CHARACTERS + one.charCodeAt(0), node);
  }

  /** Names of members that are numbers, as in `{"0":97,"1":98}`. */
  #addIndexes(): void {
    this.#add('"0":', NOTHING);
    const quoted = this.next(0, 0x22)!;
    const digit = this.next(quoted, 0x30)!;
    for (const from of [quoted, digit]) this.#repeat(digit, '0123456789', from);
  }

  /** Returns the node at which a form ends. */
  #add(form: string, code: number): number {
    let node = 0;
    this.#begins[form.charCodeAt(0)] = 1;
    for (let at = 0; at < form.length; at++) {
      const key = node * CHARACTERS + form.charCodeAt(at);
      node = this.#next.get(key) ?? this.#ends.push(-1) - 1;
      this.#next.set(key, node);
    }
    this.#ends[node] = code;
    return node;
  }

  /** Whether a form begins with a character. */
  canBegin(code: number): boolean {
    return this.#begins[code] === 1;
  }

  /** The node after a character, in either case; undefined if no form continues with it. */
  next(node: number, code: number): number | undefined {
    const lower = code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
    return this.#next.get(node * CHARACTERS + lower);
  }

  /** The character whose form ends at a node, or -1. */
  endOf(node: number): number {
    return this.#ends[node]!;
  }
}

const trees = new Map<string, EscapeTree>();
