/** Intl.Segmenter for graphemes, which come from unicode-segmenter. */

import { graphemeSegments } from 'unicode-segmenter/grapheme';
import { defineTag } from '../../../define.js';
import { option, resolveLocale, supportedTags } from './locales.js';

const GRANULARITIES = ['grapheme', 'word', 'sentence'];
const INSTEAD = {
  word: "text.match(/[\\p{L}\\p{M}\\p{N}'’]+/gu)",
  sentence: 'text.match(/[^.!?]+[.!?]*/g)',
};
const slots = new WeakMap();

function slotsOf(value, name) {
  const found = slots.get(value);
  if (found === undefined)
    throw new TypeError(`Method Intl.Segmenter.prototype.${name} called on incompatible receiver ${value}`);
  return found;
}

const toSegment = (input, starts, i) => {
  const { index } = starts[i];
  return { segment: input.slice(index, starts[i + 1]?.index), index, input };
};

class Segments {
  #input;
  #starts;

  constructor(input) {
    this.#input = input;
    this.#starts = [...graphemeSegments(input)];
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
    return toSegment(this.#input, this.#starts, low);
  }

  [Symbol.iterator]() {
    let next = 0;
    const done = { value: undefined, done: true };
    return Object.create(segmentIterator, {
      next: {
        value: () =>
          next < this.#starts.length
            ? { value: toSegment(this.#input, this.#starts, next++), done: false }
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
    const granularity = option(options ?? {}, 'granularity', GRANULARITIES, 'grapheme');
    if (granularity !== 'grapheme')
      throw new RangeError(
        `Intl.Segmenter with the granularity ${granularity} is not available in the sandbox. Use ${INSTEAD[granularity]}.`,
      );
    slots.set(this, { tag, granularity });
  }

  segment(text) {
    slotsOf(this, 'segment');
    return new Segments(`${text}`);
  }

  resolvedOptions() {
    const { tag, granularity } = slotsOf(this, 'resolvedOptions');
    return { locale: tag, granularity };
  }

  static supportedLocalesOf(locales) {
    return supportedTags(locales);
  }
}
defineTag(Segmenter.prototype, 'Intl.Segmenter');
