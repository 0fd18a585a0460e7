/** Advice for programs that use packages, modules and commands of other environments. */
import { createSandbox, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandboxes: Partial<Record<RuntimeName, Sandbox>> = {
  python: await sharedByFile(createSandbox({ runtime: 'python' })),
  javascript: await sharedByFile(createSandbox({ runtime: 'javascript' })),
};

const WORKING: readonly (readonly [RuntimeName, string, string])[] = [
  ['javascript', "console.log(require('lodash').chunk([1, 2, 3], 2).length)", '2\n'],
  [
    'javascript',
    "console.log(require('crypto').createHash('sha1').update('a').digest('hex').length)",
    '40\n',
  ],
  ['javascript', "console.log(require('path').join('a', 'b'))", 'a/b\n'],
  [
    'javascript',
    "console.log((await crypto.subtle.digest('SHA-256', new Uint8Array(3))).byteLength)",
    '32\n',
  ],
  [
    'javascript',
    "const { createCipheriv } = require('crypto');\nconsole.log(createCipheriv('aes-256-cbc', Buffer.alloc(32), Buffer.alloc(16)).update('a'.repeat(16)).length)",
    '16\n',
  ],
  [
    'javascript',
    "const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['encrypt']);\nconst sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, new Uint8Array(3));\nconsole.log(sealed.byteLength)",
    '19\n',
  ],
];

interface Case {
  readonly runtime: RuntimeName;
  readonly code: string;
  readonly type: string;
  readonly says: readonly string[];
  readonly not: RegExp;
}

const CASES: Record<string, Case> = {
  'a misspelled package': {
    runtime: 'javascript',
    code: "require('lodahs')",
    type: 'PackageNotAvailable',
    says: ["Package 'lodahs' is not available", "Did you mean 'lodash'?"],
    not: /does not exist|readText|your own files/,
  },
  'misspelled packages that can be added': {
    runtime: 'python',
    code: 'import nunpy as np\nimport panda as pd',
    type: 'PackageNotAvailable',
    says: [
      "Did you mean 'numpy'?",
      "Also missing: 'panda'. Did you mean 'pandas'?",
      'llm-wasm-sandbox packages add numpy pandas',
    ],
    not: /own module/,
  },
  'a misspelled module of the standard library': {
    runtime: 'python',
    code: 'import colections',
    type: 'PackageNotAvailable',
    says: ["Did you mean 'collections'?"],
    not: /packages add|own module/,
  },
  'a package whose name is similar to that of another': {
    runtime: 'python',
    code: 'import simpy',
    type: 'PackageNotAvailable',
    says: ['heapq'],
    not: /Did you mean|sympy/,
  },
  'key wrapping of crypto.subtle': {
    runtime: 'javascript',
    code: "await crypto.subtle.wrapKey('raw', 1, 2, { name: 'AES-KW' })",
    type: 'UnsupportedFeature',
    says: ["this algorithm of crypto ('crypto.subtle.wrapKey')", 'createCipheriv with AES'],
    not: /optional chaining/,
  },
  'pip in a subprocess': {
    runtime: 'python',
    code: "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'pandas'])",
    type: 'UnsupportedFeature',
    says: ["package installation ('pip')", "for 'pandas': csv, sqlite3", 'packages add pandas'],
    not: /shutil|glob/,
  },
  'pip in a shell command': {
    runtime: 'python',
    code: "import subprocess\nsubprocess.check_call('pip install numpy', shell=True)",
    type: 'UnsupportedFeature',
    says: ["package installation ('pip')", "for 'numpy': math, statistics"],
    not: /shutil|glob/,
  },
  'a parser of lxml': {
    runtime: 'python',
    code: "from bs4 import BeautifulSoup\nBeautifulSoup('<p>a</p>', 'lxml')",
    type: 'PackageNotAvailable',
    says: ["BeautifulSoup(html, 'html.parser')"],
    not: /pip install/,
  },
  'a package that is not vendored': {
    runtime: 'python',
    code: 'import pandas',
    type: 'PackageNotAvailable',
    says: ['Use instead: csv, sqlite3, collections and statistics'],
    not: /install pandas/,
  },
  'a package for optimisation': {
    runtime: 'python',
    code: 'import ortools.linear_solver',
    type: 'PackageNotAvailable',
    says: ['networkx', "No build of 'ortools' exists"],
    not: /toolz|packages add/,
  },
  'a package for simulation': {
    runtime: 'python',
    code: 'from simpy import Environment',
    type: 'PackageNotAvailable',
    says: ['heapq'],
    not: /sympy/,
  },
  'an installer that is imported': {
    runtime: 'python',
    code: 'import ensurepip',
    type: 'UnsupportedFeature',
    says: ['package installation'],
    not: /similar|Did you mean/,
  },
  'several missing packages of Python': {
    runtime: 'python',
    code: 'import math, polars\nimport torch\nfrom yaml import safe_load\nimport pandas as pd, numpy.linalg',
    type: 'PackageNotAvailable',
    says: [
      "Package 'polars' is not available",
      "Also missing: 'torch'. Use instead: ",
      "Also missing: 'pandas'",
      'packages add polars pandas numpy',
      "No build of 'torch' exists",
    ],
    not: /missing: '(?:math|yaml|polars)'/,
  },
  'several missing packages of JavaScript': {
    runtime: 'javascript',
    code: "import axios from 'axios';\nimport _ from 'lodash';\nimport pad from 'left-pad';\nimport f from './own.js';",
    type: 'PackageNotAvailable',
    says: ["Package 'axios' is not available", "Also missing: 'left-pad'"],
    not: /missing: '(?:lodash|axios|\.)/,
  },
};

describe('advice', () => {
  test.each(WORKING)('is not needed in %s for %s', async (runtime, code, stdout) => {
    const result = await sandboxes[runtime]!.execute(code);
    expect([result.stdout, result.metadata.error_guidance]).toEqual([stdout, undefined]);
  });

  test.each(Object.entries(CASES))('is right for %s', async (_, { runtime, code, type, says, not }) => {
    const { metadata } = await sandboxes[runtime]!.execute(code);
    const { error_type, actionable_guidance: lines } = metadata.error_guidance!;
    const text = lines.join('\n');
    expect(error_type).toBe(type);
    for (const part of says) expect(text).toContain(part);
    expect(text).not.toMatch(not);
    // No line is repeated, and none lists the same package twice or ends within a word.
    expect(new Set(lines).size).toBe(lines.length);
    for (const line of lines) {
      const packages = [...line.matchAll(/([\w.-]+) \(import /g)].map(([, name]) => name);
      expect(new Set(packages).size).toBe(packages.length);
      expect(line).not.toMatch(/\w…$/);
    }
  });

  test('names the budget of the call before that of a session', async () => {
    const code = 'import itertools\nfor order in itertools.permutations(range(15)):\n    order[0]';
    const { metadata } = await sandboxes['python']!.execute(code, { fuel_budget: 20_000_000 });
    const lines = metadata.error_guidance!.actionable_guidance;
    const call = lines.findIndex((line) => line.endsWith('run it again with policy.fuel_budget=40_000_000'));
    expect(call).toBeGreaterThan(0);
    expect(lines.findIndex((line) => line.includes('create_session('))).toBeGreaterThan(call);
  });
});
