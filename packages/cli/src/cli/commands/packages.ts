/**
 * `packages …`: lists the packages that programs can import, and manages the added ones. A subcommand is a row here plus one
 * function, which is loaded when the subcommand runs.
 */
import type { CommandDetails, CommandSpec } from '../command.ts';
import { jsonOption, languageOption, options } from '../shared-options.ts';
import type { PackagesAction, PackagesFlags } from './packages/inspect.ts';

interface PackagesSubcommand extends Omit<CommandSpec, 'action'> {
  load(): Promise<PackagesAction>;
}

const NAMES = { '<NAME...>': 'Names of added packages' };
const listOptions = () => [languageOption('List packages for this language only'), jsonOption()];
const SOURCE_OPTIONS = {
  '--no-pip': 'Do not search for wheels with pip',
  '--no-pyodide':
    "Do not search for wheels in Pyodide's distribution ($LLM_WASM_SANDBOX_PYODIDE_URL: its address or folder)",
};

const SUBCOMMANDS: readonly PackagesSubcommand[] = [
  {
    name: 'list',
    description: 'List the packages that programs can import, vendored and added',
    options: listOptions(),
    examples: ['packages list --language python'],
    load: async () => (await import('./packages/inspect.ts')).packagesList,
  },
  {
    name: 'add',
    description: 'Add Python packages and their dependencies, for all later runs and servers of this user',
    arguments: {
      '[NAME...]':
        'Names such as numpy or pandas==3.0.2, wheels, folders of wheels, or "scientific" (numpy, pandas, scipy, matplotlib, pillow, scikit-learn)',
    },
    options: options({
      '--lock <FILE>': 'Add exactly the packages in the packages.json of another machine',
      ...SOURCE_OPTIONS,
    }),
    examples: [
      'packages add numpy pandas',
      'packages add ./numpy-2.4.6-cp314-cp314-pyemscripten_2026_0_wasm32.whl',
    ],
    load: async () => (await import('./packages/change.ts')).packagesAdd,
  },
  {
    name: 'remove',
    description: 'Remove added packages and the dependencies that only they need',
    arguments: NAMES,
    examples: ['packages remove pandas'],
    load: async () => (await import('./packages/change.ts')).packagesRemove,
  },
  {
    name: 'update',
    description: 'Update added packages to the newest versions that are compatible with this installation',
    arguments: { '[NAME...]': 'Names of added packages (default: all)' },
    options: options(SOURCE_OPTIONS),
    examples: ['packages update', 'packages update numpy'],
    load: async () => (await import('./packages/change.ts')).packagesUpdate,
  },
  {
    name: 'lock',
    description: 'Approve the wheels of packages, so that programs get them on demand, or list the approvals',
    arguments: {
      '[NAME...]': 'Names of packages, wheels, or folders of wheels (default: list the approvals)',
    },
    options: options({ '--remove': 'Withdraw the approval of these packages', ...SOURCE_OPTIONS }),
    examples: [
      'packages lock numpy pandas',
      'packages lock ./wheels',
      'packages lock',
      'packages lock --remove pandas',
    ],
    load: async () => (await import('./packages/change.ts')).packagesLock,
  },
  {
    name: 'verify',
    description: 'Compare the added packages with their recorded digests',
    options: [jsonOption()],
    examples: ['packages verify'],
    load: async () => (await import('./packages/inspect.ts')).packagesVerify,
  },
];

const argumentsOf = (args: readonly (string | undefined)[]) => args.filter((one) => one !== undefined);

export default {
  options: listOptions(),
  examples: ['packages', 'packages --language python --json', 'packages add numpy pandas'],
  subcommands: SUBCOMMANDS.map(({ load, ...spec }) => ({
    ...spec,
    action: async (args, flags) => (await load())(argumentsOf(args), flags as PackagesFlags),
  })),
  action: async (args, flags) =>
    (await import('./packages/inspect.ts')).packagesList(argumentsOf(args), flags),
} satisfies CommandDetails<PackagesFlags>;
