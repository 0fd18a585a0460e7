import { createSandbox } from 'llm-wasm-sandbox';
import { sandboxTools } from 'llm-wasm-sandbox/adapters';
import { describe, expect, test } from 'vitest';
import { buildGuidance } from '../../packages/core/src/analysis/build-guidance.ts';
import { classify } from '../../packages/core/src/analysis/find-rule.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { type Abilities, NO_ABILITIES, withPolicy } from '../../packages/core/src/schema/capabilities.ts';
import { policy, type RuntimeName } from '../../packages/core/src/schema.ts';
import { capabilitiesOf } from '../../packages/server/src/mcp/tool.ts';
import { serverInstructions } from '../../packages/server/src/mcp/tool-descriptions.ts';
import { toolTable } from '../../packages/server/src/mcp/tools/index.ts';
import { serverSettings } from '../../packages/server/src/server/settings.ts';
import { exampleInput, type GuidanceExample } from '../analysis/examples/example-failure.ts';
import { EXAMPLE_FAILURES } from '../analysis/examples/index.ts';
import { READERS } from '../analysis/inputs.ts';

/** Claims that something is not there although a configuration can have it, by what makes them false. */
const CLAIMS: Readonly<Record<keyof Abilities, RegExp>> = {
  addsPackages:
    /programs cannot install|nothing can be installed|no package managers|not for [^.]*installing|(?:numpy|pandas|matplotlib|Pillow) (?:is|are) not available:/i,
  network: /\bno network\b|not for [^.]*network/i,
  tools: /this run has no tools/i,
};
const FULL: Abilities = { addsPackages: true, network: true, tools: true };

const MORE_FAILURES: readonly [RuntimeName, GuidanceExample['run']][] = [
  [
    'bash',
    { source: 'apt-get install jq', stderr: 'main.sh: line 1: apt-get: command not found\n', exitCode: 127 },
  ],
  ['bash', { source: 'ssh host', stderr: 'main.sh: line 1: ssh: command not found\n', exitCode: 127 }],
  [
    'python',
    {
      source: 'weather("Oslo")',
      error: {
        type: 'NameError',
        message: "name 'search_tools' is not defined",
        name: 'search_tools',
      },
    },
  ],
];

/** The guidance of all examples of failures. Packages of JavaScript cannot be added in any configuration. */
function guidanceTexts(abilities: Abilities): string[] {
  const examples = Object.entries(EXAMPLE_FAILURES);
  const failures = [
    ...examples.flatMap(([name, rows]) => rows.map(({ run }) => [name as RuntimeName, run] as const)),
    ...MORE_FAILURES,
  ];
  return failures
    .filter(([name, { error }]) => name !== 'javascript' || !/left-pad/.test(error?.message ?? ''))
    .flatMap(([name, run]) => {
      const examined = { language: name, isStopped: run.trap != null, error: run.error };
      const program = READERS[name].examine(run.source ?? '', examined);
      const requests = abilities.network ? [] : undefined;
      const capabilities = withPolicy(abilities, policy.parse({}));
      const input = exampleInput(LANGUAGES[name], { program, ...run, capabilities, requests });
      const found = classify(input, LANGUAGES[name].rules);
      return found === undefined ? [] : [JSON.stringify(buildGuidance(found))];
    });
}

/** What the server says to models. */
function serverTexts(more: object): string[] {
  const settings = serverSettings.parse(more);
  const notes = Object.values(LANGUAGES).flatMap(({ apiNotes, level }) => [
    ...apiNotes(capabilitiesOf(settings)),
    level,
  ]);
  return [
    serverInstructions(settings),
    ...toolTable(settings).map(({ description }) => description),
    ...notes,
  ];
}

const claimsIn = (texts: readonly string[], claim: RegExp) => texts.filter((text) => claim.test(text));

describe('a text says that something is not there', () => {
  test.each(Object.entries(CLAIMS))('only without %s: guidance', (_, claim) => {
    expect(claimsIn(guidanceTexts(FULL), claim)).toEqual([]);
    expect(claimsIn(guidanceTexts(NO_ABILITIES), claim)).not.toEqual([]);
  });

  test.each([
    ['addsPackages', CLAIMS.addsPackages, { packages: ['auto'] }],
    ['network', CLAIMS.network, { allow_net: ['https://api.example.com/*'] }],
  ] as const)('only without %s: tools of the server', (_, claim, settings) => {
    expect(claimsIn(serverTexts(settings), claim)).toEqual([]);
    expect(claimsIn(serverTexts({}), claim)).not.toEqual([]);
  });

  test('only without it: tools of the adapters', async () => {
    const network = { allow: [{ url: 'https://api.example.com/*' }] };
    const described = async (options: Parameters<typeof createSandbox>[0]) => {
      await using sandbox = await createSandbox(options);
      return sandboxTools(sandbox).map(({ description }) => description);
    };
    const full = await described({ runtime: 'python', packages: 'auto', policy: { network } });
    const plain = await described({ runtime: 'python' });
    for (const claim of [CLAIMS.addsPackages, CLAIMS.network]) {
      expect(claimsIn(full, claim)).toEqual([]);
      expect(claimsIn(plain, claim)).not.toEqual([]);
    }
  });

  test('only without it: a program that fails', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', packages: 'auto' });
    const { metadata } = await sandbox.execute('import nosuchpackage');
    const guidance = JSON.stringify(metadata.error_guidance);
    expect(guidance).toContain("Package 'nosuchpackage' is not available, and it was not added");
    await using plain = await createSandbox({ runtime: 'python' });
    const other = await plain.execute('import nosuchpackage');
    expect(JSON.stringify(other.metadata.error_guidance)).toContain('programs cannot install packages');
  });
});
