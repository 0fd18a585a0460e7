/** Rules for programs that call tools: failed calls, paused programs, and calls without tools. */
import { formatLiteral } from '../../quantities.ts';
import type { GuestError } from '../../schema.ts';
import type { AnalysisInput } from '../input.ts';
import { failedAt, oneLine } from '../quote-guest-text.ts';
import { DOCS, exceptionRule, type Rule, rule } from '../rule.ts';

/** Names that programs use to call tools. */
const TOOL_NAMES: ReadonlySet<string> = new Set(['tools', 'search_tools', 'describe_tool', 'ToolError']);
const SHOWN_CALLS = 5;

const toolOf = ({ tool = '' }: GuestError) => oneLine(tool, 80);

const NO_TOOLS: readonly string[] = [
  'This run has no tools, so the program cannot call any',
  'Tools are provided by the caller, with the tools option of createSandbox() or execute(), or with --tools-config on the command line and for the MCP server',
  'Without them, compute the result in the program, or pass the data with the files option',
];

/** Advice by the code of a ToolError. */
const ADVICE: Readonly<
  Record<string, (error: GuestError, input: AnalysisInput) => readonly (string | undefined)[]>
> = {
  invalid_arguments: (error) => [
    `The arguments of tools.${toolOf(error)} are not valid, so the tool was not called: ${oneLine(error.message)}`,
    `describe_tool("${toolOf(error)}") returns its parameters: correct the names and types of the arguments`,
  ],
  denied: (error) => [
    `The call to tools.${toolOf(error)} was not approved, so the tool was not called: ${oneLine(error.message)}`,
    'Do not repeat the call unchanged: solve the task without it, or ask the user',
    'Catch ToolError if the program can continue without the result',
  ],
  timeout: (error) => [
    `tools.${toolOf(error)} did not answer in time: ${oneLine(error.message)}`,
    'Before you repeat a call that changes something, check whether it has taken effect',
  ],
  limit: (error, { capabilities: { limits } }) => [
    `A limit was reached, so tools.${toolOf(error)} was not called: ${oneLine(error.message)}`,
    `Make fewer or smaller calls. The maximum number of calls per run is ${formatLiteral(limits.max_tool_calls)} (policy max_tool_calls)`,
  ],
  failed: (error) => [
    `tools.${toolOf(error)} failed: ${oneLine(error.message)}`,
    'Fix the problem that the message describes, or catch ToolError if the program can continue without the result',
  ],
  unknown_tool: (error, { capabilities }) =>
    capabilities.tools
      ? [
          `There is no such tool: ${oneLine(error.message)}`,
          'search_tools("words") in a program lists the tools and how to call them',
        ]
      : NO_TOOLS,
};

/** The failed call, if the program did not raise the exception itself. */
function failedCall({ error }: AnalysisInput): GuestError | undefined {
  if (error?.code === undefined || error.raised === true) return undefined;
  return Object.hasOwn(ADVICE, error.code) ? error : undefined;
}

export const toolRules: readonly Rule[] = [
  rule({
    type: 'ProgramPaused',
    evidence: 'The program is paused: it is waiting for answers to tool calls.',
    docs: [DOCS.pausing],
    match: ({ pending }) => pending,
    advise: (pending) => {
      const calls = pending.slice(0, SHOWN_CALLS).map(({ id, name }) => `${id} (${oneLine(name, 80)})`);
      const more = pending.length > calls.length ? `, … ${pending.length} in all` : '';
      const isApproval = pending.some(({ reason }) => reason === 'approval');
      return {
        message: 'The program is paused',
        guidance: [
          `The program is waiting for answers to the calls with these ids: ${calls.join(', ')}${more}. Do not run the program again: it continues when the calls are answered`,
          isApproval
            ? 'A person must approve or deny these calls, for example with: llm-wasm-sandbox resume EXECUTION_ID --approve CALL_ID --tools-config FILE. The author of the program cannot do this'
            : undefined,
          'session.resume() and the MCP tool resume_execution answer calls with values or errors',
          'No other program can run in the session until this program has ended; rolling back the session discards this program',
        ],
      };
    },
  }),
  exceptionRule({
    type: 'ToolError',
    evidence:
      'A tool call failed, and the program does not handle the ToolError. The advice depends on the code of the error.',
    docs: [DOCS.tools],
    match: failedCall,
    lines: (error, input) => [
      ...ADVICE[error.code!]!(error, input),
      input.capabilities.tools
        ? 'metadata.tool_calls lists the calls that were made: do not repeat calls that succeeded'
        : undefined,
    ],
  }),
];

/** A program that uses tools in a run without tools. `missingName` returns the name or module that does not exist. */
export const noToolsRule = (row: {
  readonly evidence: string;
  missingName(input: AnalysisInput): string | undefined;
}): Rule =>
  rule({
    type: 'ToolsNotAvailable',
    evidence: row.evidence,
    docs: [DOCS.tools],
    match: (input) => {
      const name = input.capabilities.tools ? undefined : row.missingName(input);
      return name !== undefined && TOOL_NAMES.has(name) ? name : undefined;
    },
    advise: (_, input) => ({ guidance: [...NO_TOOLS, failedAt(input)] }),
  });
