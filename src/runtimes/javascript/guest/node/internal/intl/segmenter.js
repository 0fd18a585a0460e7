/** Intl.Segmenter. Graphemes come from unicode-segmenter, words and sentences from the rules of Unicode. */
import { graphemeSegments } from 'unicode-segmenter/grapheme';
import { option, resolveLocale, supportedTags } from './locales.js';
import { sentences, words } from './segment-rules.js';

const GRANULARITIES = ['grapheme', 'word', 'sentence'];
const slots = new WeakMap();

function slotsOf(value, name) {
  const found = slots.get(value);
  if (found === undefined)
    throw new TypeError(`Method Intl.Segmenter.prototype.${name} called on incompatible receiver ${value}`);
  return found;
}

/** The start of each segment, and whether it is a word. */
function startsOf(text, granularity) {
  if (granularity === 'word') return words(text);
  return granularity === 'sentence' ? sentences(text) : [...graphemeSegments(text)];
}

const toSegment = (input, granularity, starts, i) => {
  const { index, isWordLike } = starts[i];
  const segment = input.slice(index, starts[i + 1]?.index);
  return granularity === 'word' ? { segment, index, input, isWordLike } : { segment, index, input };
};

class Segments {
  #input;
  #granularity;
  #starts;

  constructor(input, granularity) {
    this.#input = input;
    this.#granularity = granularity;
    this.#starts = startsOf(input, granularity);
  }

  /** The segment that contains the character at an index. */
  containing(index = 0) {
    const at = Math.trunc(Number(index)) || 0;
    if (at < 0 || at >= this.#input.length) return undefined;
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle].index <= at) low = middle;
      else high = middle - 1;
    }
    return toSegment(this.#input, this.#granularity, this.#starts, low);
  }

  [Symbol.iterator]() {
    let next = 0;
    const done = { value: undefined, done: true };
    return Object.create(segmentIterator, {
      next: {
        value: () =>
          next < this.#starts.length
            ? { value: toSegment(this.#input, this.#granularity, this.#starts, next++), done: false }
            : { ...done },
      },
    });
  }
}
const segmentIterator = Object.create(Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())), {
  [Symbol.toStringTag]: { value: 'Segmenter String Iterator', configurable: true },
});
Object.defineProperty(Segments.prototype, 'constructor', { value: Object });
for (const name of ['containing', Symbol.iterator])
  Object.defineProperty(Segments.prototype, name, { enumerable: true });

export class Segmenter {
  constructor(locales = undefined, options = undefined) {
    if (options !== undefined && (typeof options !== 'object' || options === null))
      throw new TypeError('Incorrect options information provided');
    const { tag } = resolveLocale(locales, {});
    slots.set(this, { tag, granularity: option(options ?? {}, 'granularity', GRANULARITIES, 'grapheme') });
  }

  segment(text) {
    return new Segments(`${text}`, slotsOf(this, 'segment').granularity);
  }

  resolvedOptions() {
    const { tag, granularity } = slotsOf(this, 'resolvedOptions');
    return { locale: tag, granularity };
  }

  static supportedLocalesOf(locales) {
    return supportedTags(locales);
  }
}
Object.defineProperty(Segmenter.prototype, Symbol.toStringTag, {
  value: 'Intl.Segmenter',
  configurable: true,
});
