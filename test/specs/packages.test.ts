/** The parts of docs/specification.md about packages, with real runs and measured costs. */
import { createSandbox, listPackages, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { javascript, python } from '../support/sandbox.ts';

const figures = async (name: string) => (await listPackages('python')).find((one) => one.name === name)!;
const fuel = (result: SandboxResult) => result.metadata.fuel_analysis!;

describe('Requirement: Fuel Consumption Pattern Detection', () => {
  test('Scenario: Heavy Package Import Detection', async () => {
    const { fuel_first_import } = await figures('openpyxl');
    const result = await python('import openpyxl', { fuel_budget: Math.round(fuel_first_import * 1.2) });
    expect(fuel(result).status).toBe('warning');
    const [imported] = result.metadata.imports;
    // The cost was measured with another build of the image and differs slightly.
    expect(imported!.fuel / fuel_first_import).toBeCloseTo(1, 1);
    const millions = Math.round(imported!.fuel / 1e6);
    expect(fuel(result).likely_causes).toContain(
      `Heavy package import detected: openpyxl (requires ${millions}M fuel)`,
    );
  });

  test('Scenario: Multiple Package Imports Detection', { tags: 'full' }, async () => {
    const result = await python('import openpyxl, jinja2, yaml', { fuel_budget: 1_000_000_000 });
    expect(fuel(result).likely_causes).toContain('Multiple package imports (cumulative fuel cost)');
  });
});

describe('Requirement: Session-Aware Fuel Analysis', () => {
  test('Scenarios: First Import in Session, Cached Import in Existing Session', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const first = await sandbox.execute('import openpyxl');
    const again = await sandbox.execute('import openpyxl\nopenpyxl.Workbook().active.title');
    expect(first.metadata.imports).toMatchObject([{ name: 'openpyxl', cached: false }]);
    expect(again.metadata.imports).toMatchObject([{ name: 'openpyxl', cached: true }]);
    expect(again.fuel_consumed).toBeLessThan(100_000_000);
    const notes = [fuel(first), fuel(again)].map((one) =>
      [one.recommendation, ...one.likely_causes].join(' '),
    );
    expect(notes[0]).toMatch(/First import of openpyxl consumed .* fuel\. Subsequent imports will use/);
    expect(notes[1]).toMatch(/cached imports/);
  });

  test('Scenario: Session Recommendation', { tags: 'full' }, async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    let last = await sandbox.execute('import openpyxl');
    for (let i = 0; i < 3; i++) last = await sandbox.execute('import openpyxl');
    const text = [fuel(last).recommendation, ...fuel(last).likely_causes].join(' ');
    expect(text).toContain('persistent session with auto_persist_globals=True');
  });
});

describe('Requirement: Fuel Budget Recommendation Accuracy', () => {
  test.each(['openpyxl', 'PyPDF2', 'jinja2'])(
    'Scenario: Package-Specific Recommendations (%s)',
    { tags: 'full' },
    async (name) => {
      const result = await python(`import ${name}`, { fuel_budget: 50_000_000 });
      expect(result.metadata).toMatchObject({
        trap_reason: 'out_of_fuel',
        error_guidance: { error_type: 'OutOfFuel' },
      });
      expect(fuel(result).recommendation).toMatch(
        new RegExp(`${name} requires \\d+M fuel for first import\\. Increase budget to`),
      );
      const advice = result.metadata.error_guidance!.actionable_guidance.join(' ');
      const budget = Number(/fuel_budget=([\d_]+)/.exec(advice)![1]!.replaceAll('_', ''));
      expect((await python(`import ${name}`, { fuel_budget: budget })).success).toBe(true);
    },
  );
});

describe('Requirement: Actionable Error Guidance', () => {
  test('Scenario: Missing Vendored Package', async () => {
    const result = await python("import sys\nsys.path = ['/app', '/lib/python3.14']\nimport openpyxl");
    expect(result.metadata.error_guidance).toMatchObject({
      error_type: 'MissingVendoredPackage',
      related_docs: ['docs/PYTHON_CAPABILITIES.md#using-vendored-packages'],
    });
    const advice = result.metadata.error_guidance!.actionable_guidance.join('\n');
    expect(advice).toContain("sys.path.insert(0, '/data/site-packages')");
    expect(advice).toContain('import openpyxl');
  });

  test('the advised import of a JavaScript package works', async () => {
    const { metadata } = await javascript("dayjs('2026-01-31').year();");
    expect(metadata.error_guidance?.error_type).toBe('MissingRequireVendor');
    const advised = metadata.error_guidance!.code_examples!.join('\n');
    expect(await javascript(`${advised}\ndayjs('2026-01-31').year()`)).toMatchObject({
      success: true,
      metadata: { result: 2026 },
    });
  });
});
