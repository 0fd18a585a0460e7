/** Guidance names what its reader has. */
import { describe, expect, test } from 'vitest';
import { COMMAND_LINE } from '../../packages/cli/src/cli/failure-text.ts';
import { analyse } from '../../packages/core/src/analysis/analyse.ts';
import { forReader, type GuidanceReader, LIBRARY_READER } from '../../packages/core/src/analysis/reader.ts';
import { adapterReader, MCP_READER } from '../../packages/core/src/model-text/readers.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { exception, OUT_OF_FUEL, pythonRun, successfulRun } from './inputs.ts';

const BOTH = { error_guidance: true, fuel_analysis: true };
const READERS: Record<string, GuidanceReader> = {
  library: LIBRARY_READER,
  MCP: MCP_READER,
  'adapter with a budget': adapterReader({ fuel_budget: 15_000_000_000 }),
  adapter: adapterReader({}),
  'command line': COMMAND_LINE,
};

function linesFor(reader: GuidanceReader, change: Parameters<typeof pythonRun>[0]): string {
  const { error_guidance } = analyse(pythonRun(change), LANGUAGES.python.rules, BOTH);
  return forReader(error_guidance!, reader).actionable_guidance.join('\n');
}

describe('guidance', () => {
  test.each([
    ['library', 'policy.fuel_budget=20_000_000_000'],
    ['MCP', 'execute_code(code, fuel_budget=20_000_000_000)'],
    ['adapter with a budget', 'execute_code(code, fuel_budget=15_000_000_000)'],
    ['adapter', 'Reduce the work of the program'],
    ['command line', '--fuel 20_000_000_000'],
  ])('after out of fuel names a change that this reader can make: %s', (name, change) => {
    const run = { trap: OUT_OF_FUEL, exitCode: 152, fuelConsumed: 10_000_000_000 };
    const lines = linesFor(READERS[name]!, run);
    expect(lines).toContain(change);
    // The fixed lines of docs/specification.md are for readers that have the tool.
    expect(lines.includes('create_session(')).toBe(name === 'library' || name === 'MCP');
    expect(lines.includes('fuel_analysis')).toBe(name !== 'command line');
  });

  test.each([
    ['library', 'policy.memory_bytes=536_870_912'],
    ['MCP', "create_session(language='python', memory_bytes=536_870_912)"],
    ['command line', '--memory 536_870_912'],
  ])('after out of memory names a change that this reader can make: %s', (name, change) => {
    const run = { error: exception('MemoryError', '') };
    expect(linesFor(READERS[name]!, run)).toContain(change);
    expect(linesFor(READERS.adapter!, run)).not.toMatch(/memory_bytes|create_session|policy|--/);
  });

  test('about a missing package says who can add it', () => {
    const error = exception('ModuleNotFoundError', "No module named 'pandas'", { name: 'pandas' });
    const run = { error, addablePackage: () => 'pandas' };
    const command = 'with: llm-wasm-sandbox packages add pandas';
    expect(linesFor(COMMAND_LINE, run)).toContain(`\nAdd it, ${command}`);
    expect(linesFor(MCP_READER, run)).toContain(`Only the operator of the sandbox can add it, ${command}`);
  });

  test.each([
    ['library', "Access over HTTP can be permitted: policy: { network: { allow: ['https://a.example/*'] } }"],
    ['MCP', 'Only the operator of the server can permit access over HTTP, with the setting allow_net'],
    ['adapter', 'Only the operator of the sandbox can permit access over HTTP'],
    ['command line', "Access over HTTP can be permitted: --allow-net 'https://a.example/*'"],
  ])('about a missing network says who can permit requests: %s', (name, how) => {
    const source = "import urllib.request\nurllib.request.urlopen('https://a.example/x')";
    const error = exception('URLError', 'no name', { module: 'urllib.error', line: 2 });
    const lines = linesFor(READERS[name]!, { source, error });
    expect(lines).toContain(how);
    expect(lines).not.toContain('No setting enables it');
  });

  test('about a package for requests depends on the permission to send them', () => {
    const error = exception('ModuleNotFoundError', "No module named 'httpx'", { name: 'httpx' });
    const run = { error, addablePackage: () => 'httpx' };
    expect(linesFor(COMMAND_LINE, run)).toContain('There is no network');
    const permitted = linesFor(COMMAND_LINE, { ...run, requests: [] });
    expect(permitted).not.toContain('There is no network');
    expect(permitted).toContain('packages add httpx');
  });

  test.each([
    ['library', 'the files option'],
    ['MCP', 'the argument files or the tool write_file'],
    ['command line', 'pass it with --file'],
  ])('about a missing file says how this reader passes one: %s', (name, how) => {
    const error = exception('FileNotFoundError', 'no file', { errno: 44, path: 'data.csv' });
    expect(linesFor(READERS[name]!, { error })).toContain(how);
  });
});

test('the recommendation of a fuel analysis names a change that its reader can make', () => {
  const { fuel_analysis } = analyse(successfulRun(8_500_000_000), LANGUAGES.python.rules, BOTH);
  const text = (reader: GuidanceReader) => forReader(fuel_analysis!, reader).recommendation;
  expect(text(LIBRARY_READER)).toContain('policy.fuel_budget=15_000_000_000 (1.5x current consumption)');
  expect(text(MCP_READER)).toContain('execute_code(code, fuel_budget=15_000_000_000)');
  expect(text(adapterReader({}))).not.toContain('fuel_budget');
});
