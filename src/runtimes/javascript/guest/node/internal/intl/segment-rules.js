/**
 * Boundaries of words and sentences according to Unicode Standard Annex #29, as ICU tailors them. Characters are classified
 * by the Unicode properties of the engine. Scripts whose words need a dictionary are rejected.
 */

/** Korean syllables with marks, which ICU does not treat as words. */
const MARKED_HANGUL = /[\uac00-\ud7a3][\p{Grapheme_Extend}\p{Mc}\p{Emoji_Modifier}\p{Cf}]/u;
/** Scripts that are written without spaces. ICU finds their words in dictionaries. */
const DICTIONARY =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Punctuation of rare scripts, some of which ends sentences. */
const RARE_PUNCTUATION = /(?=[\u{10000}-\u{1ffff}])\p{Po}/u;

/** Classes of characters, the first that matches. ASCII letters, digits and spaces are tried first. */
const WORD_CLASSES = [
  ['letter', /[A-Za-z]/],
  ['space', /[ \u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]/],
  ['number', /[0-9]/],
  ['cr', /\r/],
  ['lf', /\n/],
  ['newline', /[\v\f\u0085\u2028\u2029]/],
  ['joiner', /\u200d/],
  ['extend', /[\p{Grapheme_Extend}\p{Mc}\p{Emoji_Modifier}]/u],
  ['flag', /\p{Regional_Indicator}/u],
  ['number', /[\p{Nd}\u066b\u0600-\u0605\u06dd\u0890\u0891\u08e2]/u],
  ['extend', /(?!\u200b)\p{Cf}/u],
  ['connector', /[\p{Pc}\u202f]/u],
  ['hebrew', /(?=\p{Script=Hebrew})\p{Lo}/u],
  ['middleLetter', /[:\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a]/],
  // ICU separates Korean words from words in other scripts.
  ['hangul', /[\uac00-\ud7a3]/],
  [
    'letter',
    /(?!\p{Ideographic})\p{Alphabetic}|[\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02e5-\u02eb\u02ed\u02ef-\u02ff\u055a-\u055c\u055e\u058a\u05f3\u070f\ua708-\ua716\ua720\ua721\ua789\ua78a\uab5b]/u,
  ],
  ['middleNumber', /[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]/],
  ['middleBoth', /[.\u2018\u2019\u2024\ufe52\uff07\uff0e]/],
  ['quote', /'/],
  ['doubleQuote', /"/],
  ['pictograph', /\p{Extended_Pictographic}/u],
];

const SENTENCE_CLASSES = [
  ['lower', /[a-z]/],
  ['upper', /[A-Z]/],
  ['cr', /\r/],
  ['lf', /\n/],
  ['separator', /[\u0085\u2028\u2029]/],
  ['space', /\p{White_Space}/u],
  ['extend', /[\p{Grapheme_Extend}\p{Mc}\u200d]/u],
  ['number', /[\p{Nd}\u066b\u066c\u0600-\u0605\u06dd\u0890\u0891\u08e2]/u],
  ['extend', /(?!\u200b)\p{Cf}/u],
  ['lower', /\p{Lowercase}/u],
  ['upper', /[\p{Uppercase}\p{Lt}]/u],
  ['letter', /[\p{Alphabetic}\u05f3]/u],
  ['period', /[.\u2024\ufe52\uff0e]/],
  [
    'continue',
    /[,\-:;\u037e\u055d\u060c\u060d\u07f8\u1802\u1808\u2013\u2014\u3001\ufe10\ufe11\ufe13\ufe14\ufe31\ufe32\ufe50\ufe51\ufe54\ufe55\ufe58\ufe63\uff0c\uff0d\uff1a\uff1b\uff64]/,
  ],
  [
    'terminator',
    /[!?\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b\u1362\u1367\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b4e\u1b4f\u1b5a\u1b5b\u1b5e\u1b5f\u1b7d-\u1b7f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047-\u2049\u2cf9-\u2cfb\u2e2e\u2e3c\u2e53\u2e54\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb\ufe12\ufe15\ufe16\ufe56\ufe57\uff01\uff1f\uff61]/,
  ],
  ['close', /[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'\u275b-\u2760\u{1f676}-\u{1f678}]/u],
];

/**
 * The characters of a text with their classes. Marks and format characters belong to the character before them, unless it
 * ends a line; `joins` is whether the last of them is a zero-width joiner, and `isPlain` whether there are none.
 */
function unitsOf(text, classes, lineEnds) {
  const cache = new Map();
  const units = [];
  let start = 0;
  for (const character of text) {
    let name = cache.get(character);
    if (name === undefined) {
      name = classes.find(([, pattern]) => pattern.test(character))?.[0] ?? 'other';
      cache.set(character, name);
    }
    const last = units.at(-1);
    if ((name === 'extend' || name === 'joiner') && last !== undefined && !lineEnds.includes(last.name)) {
      last.joins = name === 'joiner';
      last.isPlain = false;
    } else units.push({ name, start, joins: name === 'joiner', isPlain: true });
    start += character.length;
  }
  return units;
}

const isLetter = (unit) => unit?.name === 'letter' || unit?.name === 'hebrew';
const isNumber = (unit) => unit?.name === 'number';
const isWordPart = (unit) => isLetter(unit) || isNumber(unit);
const isConnector = (unit) => unit?.name === 'connector';
const MIDDLE_OF_WORDS = ['middleLetter', 'middleBoth', 'quote'];
const MIDDLE_OF_NUMBERS = ['middleNumber', 'middleBoth', 'quote'];
const WORD_LINE_ENDS = ['cr', 'lf', 'newline'];

/** Whether a word continues from `left` to `right`. */
function isSameWord(before, left, right, after) {
  if (left.name === 'cr' && right.name === 'lf') return true;
  if (WORD_LINE_ENDS.includes(left.name) || WORD_LINE_ENDS.includes(right.name)) return false;
  if (left.joins && right.name === 'pictograph') return true;
  if (left.name === 'space' && right.name === 'space') return left.isPlain;
  if (left.name === 'hangul' && right.name === 'hangul') return true;
  if (isWordPart(left) && isWordPart(right)) return true;
  if (isLetter(left) && isLetter(after) && MIDDLE_OF_WORDS.includes(right.name)) return true;
  if (isLetter(before) && isLetter(right) && MIDDLE_OF_WORDS.includes(left.name)) return true;
  if (left.name === 'hebrew' && right.name === 'quote') return true;
  if (left.name === 'hebrew' && right.name === 'doubleQuote' && after?.name === 'hebrew') return true;
  if (before?.name === 'hebrew' && left.name === 'doubleQuote' && right.name === 'hebrew') return true;
  if (isNumber(left) && isNumber(after) && MIDDLE_OF_NUMBERS.includes(right.name)) return true;
  if (isNumber(before) && isNumber(right) && MIDDLE_OF_NUMBERS.includes(left.name)) return true;
  if ((isWordPart(left) || isConnector(left)) && isConnector(right)) return true;
  return isConnector(left) && isWordPart(right);
}

function reject(what, text) {
  const found = what.exec(text)?.[0];
  if (found === undefined) return;
  throw new RangeError(
    `The sandbox cannot segment text with the character ${found} at this granularity: it does not have the necessary data`,
  );
}

/** The words of a text, and what is between them: start positions, and whether each is a word or number. */
export function words(text) {
  reject(DICTIONARY, text);
  reject(MARKED_HANGUL, text);
  const units = unitsOf(text, WORD_CLASSES, WORD_LINE_ENDS);
  const found = [];
  let flags = 0;
  units.forEach((unit, i) => {
    const left = units[i - 1];
    flags = left?.name === 'flag' ? flags + 1 : 0;
    const isPair = unit.name === 'flag' && flags % 2 === 1;
    const isSame = left !== undefined && (isPair || isSameWord(units[i - 2], left, unit, units[i + 1]));
    if (!isSame) found.push({ index: unit.start, isWordLike: false });
    // A pictograph can only end a word, after a joiner.
    if (unit.name === 'pictograph') found.at(-1).isWordLike = false;
    if (isWordPart(unit) || unit.name === 'hangul') found.at(-1).isWordLike = true;
  });
  return found;
}

const LINE_ENDS = ['cr', 'lf', 'separator'];
const isTerminator = (unit) => unit?.name === 'period' || unit?.name === 'terminator';
const LETTERS = ['upper', 'lower', 'letter'];

/** Whether a sentence continues at `i` after a period, because the next letter is a lower case one. */
function isLowerNext(units, start) {
  for (let i = start; i < units.length; i++) {
    const { name } = units[i];
    if (name === 'lower') return true;
    if (LETTERS.includes(name) || LINE_ENDS.includes(name) || isTerminator(units[i])) return false;
  }
  return false;
}

/** Whether the unit at `i` starts a sentence. */
function startsSentence(units, i) {
  const left = units[i - 1];
  const right = units[i];
  if (left.name === 'cr' && right.name === 'lf') return false;
  if (LINE_ENDS.includes(left.name)) return true;
  let at = i - 1;
  let hasSpace = false;
  while (at >= 0 && units[at].name === 'space') {
    at--;
    hasSpace = true;
  }
  let hasClose = false;
  while (at >= 0 && units[at].name === 'close') {
    at--;
    hasClose = true;
  }
  const end = units[at];
  if (!isTerminator(end)) return false;
  const isDirect = !hasSpace && !hasClose;
  if (end.name === 'period') {
    if (isDirect && isNumber(right)) return false;
    if (isDirect && right.name === 'upper' && ['upper', 'lower'].includes(units[at - 1]?.name)) return false;
    if (isLowerNext(units, i)) return false;
  }
  if (right.name === 'continue' || isTerminator(right)) return false;
  if (!hasSpace && right.name === 'close') return false;
  return right.name !== 'space' && !LINE_ENDS.includes(right.name);
}

/** The sentences of a text: start positions. */
export function sentences(text) {
  reject(RARE_PUNCTUATION, text);
  const units = unitsOf(text, SENTENCE_CLASSES, LINE_ENDS);
  return units.filter((_, i) => i === 0 || startsSentence(units, i)).map(({ start }) => ({ index: start }));
}
