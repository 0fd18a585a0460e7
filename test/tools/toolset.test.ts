import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { suggestTools } from '../../packages/core/src/tools/tool-names.ts';
import { describeTool, searchTools } from '../../packages/core/src/tools/tool-search.ts';
import { Toolset, type ToolsOption } from '../../packages/core/src/tools/toolset.ts';

const weather = {
  description: 'Current weather of a city.',
  inputSchema: z.object({ city: z.string(), unit: z.enum(['C', 'F']).optional() }),
  outputSchema: z.object({ degrees: z.number() }),
  execute: async () => ({ degrees: 20 }),
};

describe('toolset', () => {
  it('accepts functions, tools and namespaces', () => {
    const toolset = Toolset.from({
      weather,
      echo: async (args: unknown) => args,
      github: { 'create-issue': weather },
    });
    expect(toolset.catalog.map(({ name, path }) => [name, path])).toEqual([
      ['echo', ['echo']],
      ['github.create-issue', ['github', 'create_issue']],
      ['weather', ['weather']],
    ]);
    expect(toolset.catalog[2]).toMatchObject({
      input_schema: { type: 'object', required: ['city'] },
      output_schema: { type: 'object', required: ['degrees'] },
    });
    expect(toolset.find('github.create_issue')).toBe(toolset.find('github.create-issue'));
    expect(Toolset.from(toolset)).toBe(toolset);
  });

  it('accepts schemas of the AI SDK and plain JSON Schema', () => {
    const inputSchema = { jsonSchema: { type: 'object', required: ['a'] }, validate: undefined };
    const { catalog } = Toolset.from({ a: { inputSchema }, b: { inputSchema: { type: 'object' } } });
    expect(catalog.map((tool) => tool.input_schema)).toEqual([inputSchema.jsonSchema, { type: 'object' }]);
  });

  it('converts all names to identifiers', () => {
    const tool = async () => 1;
    const names = [
      'a-b',
      'a_b',
      '2nd',
      'class',
      'then',
      'call',
      '__proto__',
      'naïve',
      'constructor',
      'search_tools',
    ];
    const { catalog } = Toolset.from(Object.fromEntries(names.map((name) => [name, tool])));
    expect(Object.fromEntries(catalog.map(({ name, path }) => [name, path[0]]))).toEqual(
      Object.fromEntries([
        ['a-b', 'a_b'],
        ['a_b', 'a_b_2'],
        ['2nd', '_2nd'],
        ['class', 'class_'],
        ['then', 'then_'],
        ['call', 'call_'],
        ['__proto__', '_proto__'],
        ['naïve', 'na_ve'],
        ['constructor', 'constructor_'],
        ['search_tools', 'search_tools_'],
      ]),
    );
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'must be an object'],
    ['a list', [], 'must be an object'],
    ['a number as a tool', { a: 5 }, '"a": must be a function'],
    ['an empty name', { '': async () => 1 }, '1 to 128 printable characters'],
    ['a control character in a name', { 'a\nb': async () => 1 }, '1 to 128 printable characters'],
    [
      'names that are equal when joined',
      { 'a.b': async () => 1, a: { b: async () => 1 } },
      'two tools have the name "a.b"',
    ],
    ['deep namespaces', { a: { a: { a: { a: { a: async () => 1 } } } } }, 'nested more than 4 levels deep'],
    [
      'a description that is not text',
      { a: { ...weather, description: 5 } },
      '"a".description: must be a string',
    ],
    ['a time limit of zero', { a: { ...weather, timeoutMs: 0 } }, '"a".timeoutMs'],
    [
      'a schema that cannot be checked',
      { a: { inputSchema: { $ref: 'http://x/y' } } },
      'cannot be used: the reference',
    ],
    [
      'too many tools',
      Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`t${i}`, async () => 1])),
      'at most 1,000 tools',
    ],
    [
      'a catalog that is too large',
      Object.fromEntries(
        Array.from({ length: 1000 }, (_, i) => [
          `t${i}`,
          { inputSchema: { type: 'object', title: 'x'.repeat(5000) } },
        ]),
      ),
      'Offer fewer tools',
    ],
  ])('rejects %s', (_, tools, message) => {
    expect(() => Toolset.from(tools as ToolsOption)).toThrow(message);
  });
});

describe('discovery of tools', () => {
  const { catalog } = Toolset.from({
    github: { create_issue: { ...weather, description: 'Opens an issue.' }, list_repos: weather },
    weather,
  });

  it('ranks names above descriptions', () => {
    expect(searchTools(catalog, 'issue').map(({ name }) => name)).toEqual(['github.create_issue']);
    expect(searchTools(catalog, 'weather').map(({ name }) => name)).toEqual(['weather', 'github.list_repos']);
    expect(searchTools(catalog, '', 1)).toEqual([
      { name: 'github.create_issue', call: 'tools.github.create_issue', description: 'Opens an issue.' },
    ]);
    expect(searchTools(catalog, 'zzz')).toEqual([]);
  });

  it('declares tools for both languages', () => {
    expect(describeTool(catalog, 'tools.weather')).toMatchObject({
      call: 'tools.weather',
      d_ts: '/** Current weather of a city. */\nweather(args: { city: string; unit?: "C" | "F" }): Promise<{ degrees: number }>;',
      pyi: '# Current weather of a city.\nasync def weather(*, city: str, unit: Literal["C", "F"] = ...) -> dict[str, Any]: ...',
    });
    expect(describeTool(catalog, 'missing')).toBeUndefined();
  });

  it('suggests names', () => {
    const names = catalog.map(({ name }) => name);
    expect(suggestTools('wether', names)).toEqual(['weather']);
    expect(suggestTools('create_issues', names)).toEqual(['github.create_issue']);
    expect(suggestTools('zzzzzz', names)).toEqual([]);
  });

  // guarantee: untrusted-tool-servers
  // proves: Hostile descriptions and schemas cannot break out of the comments and types in declarations.
  it('keeps hostile descriptions and schemas inside their comments and types', () => {
    const hostile = {
      description: 'a */ evil(); /*\n# b\r\nimport os\u2028x',
      inputSchema: { type: 'object', properties: { 'x": evil; "': { type: 'string' } }, enum: undefined },
      outputSchema: { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
    };
    const described = describeTool(Toolset.from({ hostile }).catalog, 'hostile')!;
    expect(described.d_ts).toBe(
      '/** a * / evil(); /* # b import os x */\nhostile(args?: { "x\\": evil; \\""?: string }): Promise<unknown>;',
    );
    expect(described.pyi).toBe(
      '# a */ evil(); /* # b import os x\nasync def hostile(**arguments: Any) -> Any: ...',
    );
  });

  it('writes valid Python for parameters that are keywords', () => {
    const properties = { from: { type: 'string' }, class: {}, to: { type: 'string' }, None: {} };
    const mail = { inputSchema: { type: 'object', properties, required: ['from', 'to'] }, execute: () => 0 };
    expect(describeTool(Toolset.from({ mail } as never).catalog, 'mail')!.pyi).toBe(
      'async def mail(*, to: str, **arguments: Any) -> Any: ...',
    );
  });

  it('bounds declarations of large and recursive schemas', () => {
    const node = (depth: number): object =>
      depth === 0
        ? {}
        : {
            type: 'object',
            properties: Object.fromEntries(['a', 'b', 'c'].map((k) => [k, node(depth - 1)])),
          };
    const { d_ts, pyi } = describeTool(
      Toolset.from({ big: { inputSchema: node(6) as object } as never }).catalog,
      'big',
    )!;
    expect(d_ts.length).toBeLessThan(10_000);
    expect(pyi.length).toBeLessThan(10_000);
  });
});
