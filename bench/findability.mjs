/**
 * How well our tools are found by their words among those of other public servers: a BM25 ranking of name, title and
 * description for queries frozen in findability-queries.json. A proxy: it says whether the words are there and
 * distinctive, not what a model would choose. The other servers are fetched, pinned, and asked for their tools.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { fetched } from '../scripts/fetched.mjs';
import { markdown } from './measure.mjs';

/** Package, its program inside node_modules, arguments. */
const PEERS = [
  ['@modelcontextprotocol/server-filesystem@2026.8.31', 'dist/index.js', [tmpdir()]],
  ['@modelcontextprotocol/server-memory@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-everything@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-sequential-thinking@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-github@2025.4.8', 'dist/index.js', []],
  ['@playwright/mcp@0.0.83', 'cli.js', []],
  ['chrome-devtools-mcp@1.11.0', 'build/src/bin/chrome-devtools-mcp.js', []],
  ['mcp-server-code-runner@0.1.8', 'dist/cli.js', []],
];
const K1 = 1.2;
const B = 0.75;

async function toolsOf(name, args) {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }), {
    timeout: 20_000,
  });
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool) => ({ ...tool, server: name }));
}

const packageName = (specifier) => specifier.slice(0, specifier.lastIndexOf('@'));

async function peerTools() {
  const folder = fetched('peers', [...PEERS.map(([name]) => name)]);
  const lists = [];
  for (const [specifier, program, args] of PEERS) {
    const name = packageName(specifier);
    const path = join(folder, 'node_modules', name, program);
    lists.push(
      await toolsOf(name, [path, ...args]).catch((cause) => {
        process.stderr.write(`bench: ${name} left out: ${cause.message}\n`);
        return [];
      }),
    );
  }
  return lists.flat();
}

/** Words without endings that only grammar needs. */
const terms = (text) =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => word.replace(/(?:ing|ed|es|s)$/, ''));

function ranker(documents) {
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
    return documents
      .map((document, i) => ({ ...document, score: score(indexed[i]) }))
      .sort((a, b) => b.score - a.score);
  };
}

export async function table() {
  const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
  const own = await toolsOf('llm-wasm-sandbox', [cli, 'mcp', '--log-level', 'silent']);
  const others = await peerTools();
  const documents = [...own, ...others].map(({ server, name, title = '', description = '' }) => ({
    server,
    name,
    text: `${name.replaceAll('_', ' ')} ${title} ${description}`,
  }));
  const rank = ranker(documents);
  const queries = JSON.parse(readFileSync(new URL('findability-queries.json', import.meta.url), 'utf8'));
  const places = queries.map(([query, wanted]) => {
    const place =
      rank(query).findIndex(({ server, name }) => server === 'llm-wasm-sandbox' && name === wanted) + 1;
    if (process.env.FINDABILITY_VERBOSE && place > 1) console.error(place, query, '→', rank(query)[0].name);
    return place;
  });
  const share = (limit) => `${places.filter((place) => place <= limit).length} of ${places.length}`;
  const reciprocal = places.reduce((sum, place) => sum + 1 / place, 0) / places.length;
  const note = `BM25 over ${own.length} tools of ours and ${others.length} of ${new Set(others.map(({ server }) => server)).size} other public servers, for ${queries.length} frozen queries. A retrieval proxy: it does not say what a model would choose.`;
  const rows = [[share(1), share(3), share(5), reciprocal.toFixed(2)]];
  return markdown(
    'Findability of tools',
    note,
    ['first', 'among 3', 'among 5', 'mean reciprocal rank'],
    rows,
  );
}
