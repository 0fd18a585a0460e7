/** Prompts for common jobs: a row each, with the arguments a person fills in and the text a model gets. */
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { RUNTIME_NAMES, runtimeName } from '../schema.ts';

interface Prompt<A extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: A;
  text(args: z.output<A>): string;
}

const definePrompt = <A extends z.ZodObject>(row: Prompt<A>): Prompt => row as unknown as Prompt;

export const PROMPTS: readonly Prompt[] = [
  definePrompt({
    name: 'analyse_csv',
    title: 'Analyse a CSV file',
    description: 'Look at a CSV file of the workspace, describe it and answer a question about it.',
    args: z.object({
      file: z.string().describe('File in the workspace, e.g. sales.csv'),
      question: z.string().optional().describe('What to find out'),
    }),
    text: ({ file, question }) =>
      `Analyse the CSV file ${file} with the sandbox tools.
1. create_session(language="python"), so that the data is loaded once; write_file puts the file in if list_files does not show it.
2. Read it with the csv module. Report columns, rows, types, missing values and a few example rows.
3. ${question === undefined ? 'Compute what seems worth knowing about each column.' : `Answer: ${question}`}
4. Check your figures with a second, independent calculation before you state them.
Print only what is needed, not the whole file.`,
  }),
  definePrompt({
    name: 'convert_document',
    title: 'Convert a document',
    description: 'Turn a file of the workspace into another format and check the result.',
    args: z.object({
      file: z.string().describe('File in the workspace, e.g. report.xlsx'),
      to: z.string().describe('Wanted format, e.g. csv, json, markdown'),
    }),
    text: ({ file, to }) =>
      `Convert ${file} to ${to} with the sandbox tools.
1. list_available_packages(query=…) shows which package reads the one format and writes the other.
2. Convert with execute_code; write the result next to the original in /app.
3. Read the result back, compare counts (rows, pages, keys) with the original, and say what was lost, if anything.
4. Name the file you made.`,
  }),
  definePrompt({
    name: 'debug_error',
    title: 'Debug this error',
    description: 'Reproduce an error in the sandbox, find its cause and prove the fix.',
    args: z.object({
      code: z.string().describe('The code that fails'),
      language: runtimeName.describe(RUNTIME_NAMES.join(' or ')),
      error: z.string().optional().describe('The error text, if you have it'),
    }),
    text: ({ code, language, error }) =>
      `Find out why this ${language} code fails and fix it.
1. Run it as it is with execute_code and read outcome, stderr and error_guidance.${error === undefined ? '' : `\n   It was reported to fail with: ${error}`}
2. State the cause in one sentence, naming the line.
3. Change as little as possible, run again, and show that it works, also for an edge case.

\`\`\`${language}
${code}
\`\`\``,
  }),
];

export function registerPrompts(server: McpServer): void {
  for (const { name, title, description, args, text } of PROMPTS) {
    server.registerPrompt(name, { title, description, argsSchema: args }, (given) => ({
      description,
      messages: [{ role: 'user', content: { type: 'text', text: text(given as Record<string, unknown>) } }],
    }));
  }
}
