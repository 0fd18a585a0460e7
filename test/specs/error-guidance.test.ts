/** The error guidance of docs/specification.md, in its order. */
import { existsSync, readFileSync } from 'node:fs';
import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { analyse } from '../../packages/core/src/analysis/analyse.ts';
import { relatedDocs } from '../../packages/core/src/analysis/build-guidance.ts';
import type { AnalysisInput } from '../../packages/core/src/analysis/input.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { exception, pythonRun } from '../analysis/inputs.ts';
import { javascript, python } from '../support/sandbox.ts';

const BOTH = { error_guidance: true, fuel_analysis: true };
const analysed = (input: AnalysisInput) =>
  analyse(input, LANGUAGES[input.language.name].rules, BOTH).error_guidance;
const guidanceOf = ({ metadata }: SandboxResult) => metadata.error_guidance;

describe('Requirement: Structured Error Analysis', () => {
  test('Scenario: OutOfFuel Error Guidance', async () => {
    const program =
      'import itertools\nrising = 0\nfor order in itertools.permutations(range(15)):\n    rising += order[0] < order[1]';
    const result = await python(program, { timeout_seconds: 120 });
    expect(result.metadata.trap_reason).toBe('out_of_fuel');
    const guidance = guidanceOf(result)!;
    expect(guidance).toMatchObject({
      error_type: 'OutOfFuel',
      error_message: 'Execution trapped: OutOfFuel',
      related_docs: ['docs/PYTHON_CAPABILITIES.md#fuel-budget-guidelines'],
    });
    const [exceeded, cause, ...solutions] = guidance.actionable_guidance;
    expect(exceeded).toBe('Code exceeded 10B instruction budget');
    expect(cause).toMatch(/^Likely cause: Long-running code: stopped at line [34]: /);
    expect(solutions.slice(0, 4)).toEqual([
      // Not in docs/specification.md, which has no budget per call.
      'To give this call more fuel, run it again with policy.fuel_budget=20_000_000_000',
      'Solution 1: Simplify code or use lighter alternatives',
      'Solution 2: Create session with higher fuel budget',
      "Example: create_session(language='python', fuel_budget=20_000_000_000)",
    ]);
  });

  test('Scenario: OutOfFuel Error Guidance, with heavy packages', () => {
    const input = pythonRun({
      source: 'import openpyxl, PyPDF2',
      exitCode: 152,
      trap: { reason: 'out_of_fuel', message: 'Execution trapped: OutOfFuel' },
      fuelConsumed: 10_000_000_000,
      imports: [{ name: 'openpyxl', fuel: 6_500_000_000, cached: false }],
    });
    const lines = analysed(input)?.actionable_guidance;
    expect(lines).toContain('Likely cause: Heavy package imports (openpyxl 6.5B, PyPDF2 5.5B)');
  });

  test('Scenario: Path Restriction Error Guidance', async () => {
    const guidance = guidanceOf(await python("open('/etc/passwd').read()"))!;
    expect(guidance).toMatchObject({
      error_type: 'PathRestriction',
      error_message: 'FileNotFoundError: /etc/passwd',
      related_docs: ['docs/MCP_INTEGRATION.md#security-considerations'],
    });
    expect(guidance.actionable_guidance).toEqual([
      "Security error: Cannot access '/etc/passwd' - programs can use only /app, /tmp and mounted folders",
      "Use absolute paths like '/app/data.txt' or relative paths 'data.txt' (auto-prefixed with /app)",
      'Programs see a virtual file system; the files of the host are not part of it',
      "It failed on line 1: open('/etc/passwd').read()",
    ]);
  });

  test('Scenario: QuickJS Tuple Destructuring Error Guidance', async () => {
    const program = "const files = os.readdir('/app');\nfor (const [name] of files) console.log(name);";
    const guidance = guidanceOf(await javascript(program))!;
    expect(guidance).toEqual({
      error_type: 'QuickJSTupleDestructuring',
      error_message: 'TypeError: value is not iterable',
      actionable_guidance: [
        'QuickJS functions return [result, error] tuples - use destructuring',
        "Incorrect: const files = os.readdir('/app')",
        "Correct: const [files, err] = os.readdir('/app')",
        'Check for errors: if (err) { console.error(err); }',
        'It failed on line 2: for (const [name] of files) console.log(name);',
      ],
      related_docs: ['docs/JAVASCRIPT_CAPABILITIES.md#quickjs-api-patterns'],
      code_examples: [
        "const [files, err] = os.readdir('/app');",
        "if (err) { console.error('Failed to read directory:', err); }",
        "else { console.log('Files:', files); }",
      ],
    });
    const advised = await javascript(guidance.code_examples!.join('\n'));
    expect(advised).toMatchObject({ success: true, stderr: '' });
  });

  test('Scenario: Missing Vendored Package Import Error Guidance', () => {
    const source = "import sys\nsys.path = ['/app']\nimport openpyxl";
    const error = exception('ModuleNotFoundError', "No module named 'openpyxl'", {
      name: 'openpyxl',
      line: 3,
    });
    const guidance = analysed(pythonRun({ source, error }))!;
    expect(guidance).toMatchObject({
      error_type: 'MissingVendoredPackage',
      error_message: "ModuleNotFoundError: No module named 'openpyxl'",
      related_docs: ['docs/PYTHON_CAPABILITIES.md#using-vendored-packages'],
    });
    expect(guidance.actionable_guidance.slice(0, 4)).toEqual([
      "Package 'openpyxl' is pre-installed but requires sys.path configuration",
      "Add at start of code: import sys; sys.path.insert(0, '/data/site-packages')",
      'Then import normally: import openpyxl',
      'Note: In MCP server, sys.path is auto-configured - this error should not occur',
    ]);
  });
});

describe('Requirement: Error Classification Logic', () => {
  test('Scenario: Trap-Based Classification', async () => {
    const fuel = await python('while True: pass', { fuel_budget: 50_000_000 });
    expect(guidanceOf(fuel)?.error_type).toBe('OutOfFuel');
    const unreachable = await python('import os\nos.abort()');
    expect(guidanceOf(unreachable)).toMatchObject({
      error_type: 'WASMUnreachable',
      error_message: unreachable.metadata.trap_message,
    });
    const memory = await python("x = 'x' * 10**9");
    expect(guidanceOf(memory)?.error_type).toBe('MemoryExhausted');
  });

  test('Scenario: Stderr-Based Classification', async () => {
    const path = await python("import os\nos.listdir('/home')");
    expect(guidanceOf(path)?.error_type).toBe('PathRestriction');
    const tuple = await javascript("const [fd, err] = os.open('/app/x', os.O_RDONLY);");
    expect(guidanceOf(tuple)?.error_type).toBe('QuickJSTupleDestructuring');
    const syntax = await python('x = = 1');
    expect(guidanceOf(syntax)?.error_type).toBe('SyntaxError');
  });

  test('Scenario: Stderr-Based Classification, when standard error is all there is', () => {
    const trace = 'Traceback (most recent call last):\n  File "/app/main.py", line 1, in <module>\n    x\n';
    const typeOf = (end: string) =>
      analysed(pythonRun({ ending: 'unknown', stderr: `${trace}${end}\n` }))?.error_type;
    expect(typeOf("FileNotFoundError: [Errno 44] No such file or directory: '/etc/passwd'")).toBe(
      'PathRestriction',
    );
    expect(typeOf("ModuleNotFoundError: No module named 'openpyxl'")).toBe('MissingVendoredPackage');
  });

  test('Scenario: No Error Detected', async () => {
    const result = await python("import sys\nprint('FileNotFoundError: /etc/passwd', file=sys.stderr)");
    expect(result.success).toBe(true);
    expect(result.metadata).not.toHaveProperty('error_guidance');
  });
});

describe('Requirement: Backward Compatibility', () => {
  test('Scenario: Existing Clients Ignore New Fields', async () => {
    const { metadata: on, ...result } = await python("open('/etc/passwd')");
    const sandbox = await createSandbox({
      runtime: 'python',
      policy: { error_guidance: false, fuel_analysis: false },
    });
    const { metadata: off, ...plain } = await sandbox.execute("open('/etc/passwd')");
    await sandbox.close();
    const { error_guidance, fuel_analysis, queue_ms: _, ...rest } = on;
    const { queue_ms: __, ...bare } = off;
    expect(error_guidance).toBeDefined();
    expect(fuel_analysis).toBeDefined();
    expect(rest).toEqual(bare);
    expect({ ...result, duration_ms: 0 }).toEqual({ ...plain, duration_ms: 0 });
  });

  test('Scenario: New Clients Consume Error Guidance', async () => {
    const failed = guidanceOf(await python('print(undefined_name)'))!;
    expect(failed.actionable_guidance.every((line) => line.length > 0 && !line.includes('\n'))).toBe(true);
    expect(failed.related_docs.length).toBeGreaterThan(0);
    expect(guidanceOf(await python('print(1)'))).toBeUndefined();
  });
});

describe('Requirement: Documentation Link Consistency', () => {
  const root = new URL('../../', import.meta.url);
  const anchorsOf = (path: string) =>
    [
      ...readFileSync(new URL(path, root), 'utf8')
        .replaceAll(/^```[\s\S]*?^```/gm, '')
        .matchAll(/^#+ (.+)$/gm),
    ].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  const links = new Set(
    Object.values(LANGUAGES).flatMap((language) =>
      language.rules.flatMap((rule) => [
        ...relatedDocs(rule, language),
        ...relatedDocs({ ...rule, docs: [] }, language),
      ]),
    ),
  );
  test.each([...links])('Scenario: Valid Documentation References: %s', (link) => {
    const [path, anchor] = link.split('#') as [string, string];
    expect(existsSync(new URL(path, root))).toBe(true);
    expect(anchorsOf(path)).toContain(anchor);
  });
});
