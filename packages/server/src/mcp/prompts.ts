/** Prompts for common tasks: the arguments that a user fills in, and the text that the model receives. */

import { LANGUAGE_NAMES, languageName } from '@llm-wasm-sandbox/core/internal';
import type { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ServerSettings } from '../server/settings.ts';
import { offersTool } from './tool.ts';

interface Prompt<A extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: A;
  /** Tools that the text mentions, besides execute_code. */
  readonly tools: readonly string[];
  text(args: z.output<A>): string;
}

/** Infers the type of the arguments from their schema. */
const definePrompt = <A extends z.ZodObject>(prompt: Prompt<A>): Prompt => prompt as unknown as Prompt;

export const PROMPTS: readonly Prompt[] = [
  definePrompt({
    name: 'analyse_csv',
    title: 'Analyse a CSV file',
    description: 'Inspect a CSV file in the workspace, summarise it and answer a question about it.',
    tools: ['create_session', 'list_files', 'write_file'],
    args: z.object({
      file: z.string().describe('File in the workspace, e.g. sales.csv'),
      question: z.string().optional().describe('What to find out'),
    }),
    text: ({ file, question }) =>
      `Analyse the CSV file ${file} with the sandbox tools.
1. Call create_session(language="python"), so that the data is loaded once. If list_files does not show the file, upload it with write_file.
2. Read it with the csv module. Report columns, rows, types, missing values and a few example rows.
3. ${question === undefined ? 'Compute useful statistics for each column.' : `Answer this question: ${question}`}
4. Verify your figures with a second, independent calculation before you report them.
Print only what you need, not the whole file.`,
  }),
  definePrompt({
    name: 'convert_document',
    title: 'Convert a document',
    description: 'Convert a file in the workspace to another format and verify the result.',
    tools: ['list_available_packages'],
    args: z.object({
      file: z.string().describe('File in the workspace, e.g. report.xlsx'),
      to: z.string().describe('Target format, e.g. csv, json, markdown'),
    }),
    text: ({ file, to }) =>
      `Convert ${file} to ${to} with the sandbox tools.
1. Call list_available_packages(query=…) to find packages that read the source format and write the target format.
2. Convert the file with execute_code and write the result next to the original in /app.
3. Read the result back, compare counts (rows, pages, keys) with the original, and report any loss.
4. Report the name of the new file.`,
  }),
  definePrompt({
    name: 'debug_error',
    title: 'Debug this error',
    description: 'Reproduce an error in the sandbox, find its cause and verify the fix.',
    tools: [],
    args: z.object({
      code: z.string().describe('The code that fails'),
      language: languageName.describe(LANGUAGE_NAMES.join(' or ')),
      error: z.string().optional().describe('The error message, if you have it'),
    }),
    text: ({ code, language, error }) =>
      `Find out why this ${language} code fails and fix it.
1. Run it unchanged with execute_code and read outcome, stderr and, if present, error_guidance.${error === undefined ? '' : `\n   The reported error is: ${error}`}
2. State the cause in one sentence, with the line number.
3. Make the smallest possible change, run the code again, and show that it works, including an edge case.

\`\`\`${language}
${code}
\`\`\``,
  }),
];

/** Registers the prompts whose tools the server offers. */
export function registerPrompts(server: McpServer, settings: Pick<ServerSettings, 'tools'>): void {
  const offered = PROMPTS.filter(({ tools }) => tools.every((tool) => offersTool(settings, tool)));
  for (const { name, title, description, args, text } of offered) {
    server.registerPrompt(name, { title, description, argsSchema: args }, (given) => ({
      description,
      messages: [{ role: 'user', content: { type: 'text', text: text(given as Record<string, unknown>) } }],
    }));
  }
}
