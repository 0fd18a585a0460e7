/**
 * Rank of our tools among those of other public servers for fixed queries, by terms, by meaning and by both combined, over
 * name, title and description. This is a proxy: it shows whether a description has distinctive terms, not which tool a
 * model would choose. The other servers are installed from pinned versions. FINDABILITY_VERBOSE=1 lists the queries for
 * which another tool ranks first.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { markdown } from './measure.mjs';
import { byBoth, byMeaning, byTerms } from './retrieval.mjs';

/** Package, entry point inside the package, arguments. */
const PEERS = [
  ['@modelcontextprotocol/server-filesystem@2026.8.31', 'packages/core/dist/index.js', [tmpdir()]],
  ['@modelcontextprotocol/server-memory@2026.8.31', 'packages/core/dist/index.js', []],
  ['@modelcontextprotocol/server-everything@2026.8.31', 'packages/core/dist/index.js', []],
  ['@modelcontextprotocol/server-sequential-thinking@2026.8.31', 'packages/core/dist/index.js', []],
  ['@modelcontextprotocol/server-github@2025.4.8', 'packages/core/dist/index.js', []],
  ['@playwright/mcp@0.0.83', 'cli.js', []],
  ['chrome-devtools-mcp@1.11.0', 'build/src/bin/chrome-devtools-mcp.js', []],
  ['mcp-server-code-runner@0.1.8', 'packages/cli/dist/cli/main.js', []],
];

/** Neither file may change together with descriptions. */
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
  const folder = installPinned('peers', [...PEERS.map(([name]) => name)]);
  const lists = [];
  for (const [specifier, program, args] of PEERS) {
    const name = packageName(specifier);
    const path = join(folder, 'node_modules', name, program);
    lists.push(
      await toolsOf(name, [path, ...args]).catch((cause) => {
        process.stderr.write(`bench: skipped ${name}: ${cause.message}\n`);
        return [];
      }),
    );
  }
  return lists.flat();
}

export async function table() {
  const cli = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));
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
  const terms = byTerms(documents);
  const meaning = await byMeaning(
    documents,
    sets.flatMap(([, queries]) => queries.map(([query]) => query)),
  );
  const ways = [
    ['terms (BM25)', terms],
    ['meaning (Universal Sentence Encoder Lite)', meaning],
    ['both (reciprocal rank fusion)', byBoth(documents, [terms, meaning])],
  ];
  const rows = sets.flatMap(([set, queries]) =>
    ways.map(([way, ranker]) => [
      `${queries.length} ${set}`,
      way,
      ...figures(queries.map(([query, wanted]) => rankOf(way, ranker, query, wanted))),
    ]),
  );
  const servers = new Set(others.map(({ server }) => server)).size;
  const note = `Each query describes one of the ${own.length} tools of this server. The search covers these tools and ${others.length} tools of ${servers} other public servers. The rank shows whether a description has distinctive terms, not which tool a model would choose. The frozen queries were known when the descriptions were written. The held-out queries were not. The figures do not depend on the machine.`;
  const head = ['queries', 'ranked by', 'first', 'top 3', 'top 5', 'mean reciprocal rank'];
  return markdown('Findability of tools', note, head, rows);
}

function rankOf(way, ranker, query, wanted) {
  const ranked = ranker(query);
  const rank = ranked.findIndex(({ server, name }) => server === OURS && name === wanted) + 1;
  const [{ server, name }] = ranked;
  if (process.env.FINDABILITY_VERBOSE && rank > 1)
    console.error(`${way}: ${wanted} has rank ${rank} for "${query}"; first is ${name} (${server})`);
  return rank;
}

function figures(ranks) {
  const share = (limit) => `${ranks.filter((rank) => rank <= limit).length} of ${ranks.length}`;
  const reciprocal = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
  return [share(1), share(3), share(5), reciprocal.toFixed(2)];
}
