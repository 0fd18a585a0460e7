/**
 * How well our tools are found among those of other public servers, by words, by meaning and by both: rankings of name,
 * title and description for queries frozen in findability-queries.json. A proxy: it says whether the words are there and
 * distinctive, not what a model would choose. The other servers are fetched, pinned, and asked for their tools.
 * FINDABILITY_VERBOSE=1 tells which queries find something else first.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { fetched } from '../scripts/fetched.mjs';
import { markdown } from './measure.mjs';
import { byBoth, byMeaning, byWords } from './retrieval.mjs';

/** Package, its program inside node_modules, arguments. */
const PEERS = [
  ['@modelcontextprotocol/server-filesystem@2026.8.31', 'dist/index.js', [tmpdir()]],
  ['@modelcontextprotocol/server-memory@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-everything@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-sequential-thinking@2026.8.31', 'dist/index.js', []],
  ['@modelcontextprotocol/server-github@2025.4.8', 'dist/index.js', []],
  ['@playwright/mcp@0.0.83', 'cli.js', []],
  ['chrome-devtools-mcp@1.11.0', 'build/src/bin/chrome-devtools-mcp.js', []],
  ['mcp-server-code-runner@0.1.8', 'dist/cli/main.js', []],
];

/** Neither file changes when descriptions do. */
const SETS = [
  ['frozen', 'findability-queries.json'],
  ['held out', 'findability-held-out.json'],
];
const OURS = 'llm-wasm-sandbox';

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

export async function table() {
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
  const own = await toolsOf(OURS, [cli, 'mcp', '--log-level', 'silent']);
  const others = await peerTools();
  const documents = [...own, ...others].map(({ server, name, title = '', description = '' }) => ({
    server,
    name,
    text: `${name.replaceAll('_', ' ')} ${title} ${description}`,
  }));
  const sets = SETS.map(([name, file]) => [
    name,
    JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')),
  ]);
  const words = byWords(documents);
  const meaning = await byMeaning(
    documents,
    sets.flatMap(([, queries]) => queries.map(([query]) => query)),
  );
  const ways = [
    ['words (BM25)', words],
    ['meaning (Universal Sentence Encoder Lite)', meaning],
    ['both (reciprocal rank fusion)', byBoth(documents, [words, meaning])],
  ];
  const rows = sets.flatMap(([set, queries]) =>
    ways.map(([way, rank]) => [
      `${queries.length} ${set}`,
      way,
      ...figures(queries.map(([query, wanted]) => place(way, rank, query, wanted))),
    ]),
  );
  const servers = new Set(others.map(({ server }) => server)).size;
  const note = `${own.length} tools of ours among ${others.length} of ${servers} other public servers. A retrieval proxy: it does not say what a model would choose. The descriptions were revised with the frozen queries in sight, and without the held-out ones.`;
  const head = ['queries', 'ranked by', 'first', 'among 3', 'among 5', 'mean reciprocal rank'];
  return markdown('Findability of tools', note, head, rows);
}

function place(way, rank, query, wanted) {
  const ranked = rank(query);
  const found = ranked.findIndex(({ server, name }) => server === OURS && name === wanted) + 1;
  const [{ server, name }] = ranked;
  if (process.env.FINDABILITY_VERBOSE && found > 1)
    console.error(`${way}: ${wanted} is ${found} for "${query}", after ${name} (${server})`);
  return found;
}

function figures(places) {
  const share = (limit) => `${places.filter((one) => one <= limit).length} of ${places.length}`;
  const reciprocal = places.reduce((sum, one) => sum + 1 / one, 0) / places.length;
  return [share(1), share(3), share(5), reciprocal.toFixed(2)];
}
