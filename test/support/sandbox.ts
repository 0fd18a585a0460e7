/** The built package as a user has it, with short ways to run a program. */
import {
  createSandbox,
  type ExecuteOptions,
  type PolicyInput,
  type RuntimeName,
  type SandboxResult,
} from 'llm-wasm-sandbox';

/** A program, and what it takes for it to end in a certain way. */
export interface Ending {
  readonly runtime: RuntimeName;
  readonly code: string;
  readonly policy?: PolicyInput;
  readonly options?: () => ExecuteOptions;
}

/** Runs a program in a sandbox of its own. */
export async function run(
  runtime: RuntimeName,
  code: string,
  options: ExecuteOptions = {},
): Promise<SandboxResult> {
  const sandbox = await createSandbox({ runtime });
  try {
    return await sandbox.execute(code, options);
  } finally {
    await sandbox.close();
  }
}

export const python = (code: string, options?: ExecuteOptions) => run('python', code, options);
export const javascript = (code: string, options?: ExecuteOptions) => run('javascript', code, options);

/** Takes the common indentation off a program, so that tests can indent theirs. */
export function code(strings: TemplateStringsArray, ...values: unknown[]): string {
  const text = String.raw({ raw: strings }, ...values).replace(/^\n/, '');
  const indents = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => /^ */.exec(line)![0].length);
  const indent = Math.min(...indents);
  return text
    .split('\n')
    .map((line) => line.slice(indent))
    .join('\n');
}
