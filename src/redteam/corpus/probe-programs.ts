/** Programs of the runner itself, by language: they detect effects of an attack outside its own run. */
import type { RuntimeName } from '../../schema.ts';

/**
 * Runs after an attack in the same sandbox, and must print the same output and use the same fuel as in a sandbox that
 * was never attacked. Imports nothing that a workspace file could shadow.
 */
export const NEXT_RUN: Readonly<Record<RuntimeName, string>> = {
  python: `
import builtins, sys
print(len(dir(builtins)), sys.getrecursionlimit(), sorted(k for k in globals() if k[0] != '_'))
print([type(x).__name__ for x in (1, 'a', [], {}, len)], sum(range(100)), '{:.2f}'.format(1.5), sys.stdout.fileno())
`,
  javascript: `
console.log(Object.getOwnPropertyNames(globalThis).length, Reflect.ownKeys(Object.prototype).length);
console.log(JSON.stringify([1, 'a', { b: [null] }]), [3, 1, 2].sort().join(), typeof Function('return 1'), \`\${[] + {}}\`);
`,
};

/** Runs in another sandbox at the same time. */
export const NEIGHBOUR: Readonly<Record<RuntimeName, string>> = {
  python: "total = 0\nfor i in range(3000): total += i\nprint(total, open('own.txt').read())",
  javascript:
    "import * as std from 'std'; let total = 0; for (let i = 0; i < 3000; i++) total += i; console.log(total, std.loadFile('own.txt'));",
};

export const NEIGHBOUR_OUTPUT = '4498500 mine\n';

/** A program that evaluates expressions one by one and prints the value of each, or the name of its exception, as JSON. */
export const EVALUATOR: Readonly<Record<RuntimeName, (expressions: readonly string[]) => string>> = {
  python: (expressions) => `
import json, os, sys
for number, line in enumerate(json.loads(${JSON.stringify(JSON.stringify(expressions))})):
    try: seen = ascii(eval(line))[:200]
    except Exception as error: seen = type(error).__name__
    print('\\n' + json.dumps([number, seen]), flush=True)
`,
  javascript: (expressions) => `
import * as std from 'std';
import * as os from 'os';
const lines = ${JSON.stringify(expressions)};
for (let number = 0; number < lines.length; number++) {
  let seen;
  try { const value = await eval(lines[number]); seen = typeof value === 'function' ? 'function' : String(value).slice(0, 200); }
  catch (error) { seen = error?.name ?? String(error); }
  console.log('\\n' + JSON.stringify([number, seen]));
}
`,
};

/** Runs after an attack with tools, in the same session. Must print `[1]`. */
export const TOOL_PROBE: Readonly<Record<RuntimeName, string>> = {
  python: 'print(list((await tools.echo(n=1)).values()))',
  javascript: 'process.stdout.write(JSON.stringify(Object.values(await tools.echo({ n: 1 }))) + "\\n");',
};
