/** Short ways to run a program with the built package. */
import {
  createSandbox,
  type ExecuteOptions,
  type PolicyInput,
  type RuntimeName,
  type SandboxResult,
} from 'llm-wasm-sandbox';

/** A program with the policy and options of its call. */
export interface TestProgram {
  readonly runtime: RuntimeName;
  readonly code: string;
  readonly policy?: PolicyInput;
  readonly options?: () => ExecuteOptions;
}

/** Runs a program in a new sandbox. Its time limit is long, so that the load of the machine does not change the result. */
export async function run(
  runtime: RuntimeName,
  code: string,
  options: ExecuteOptions = {},
): Promise<SandboxResult> {
  await using sandbox = await createSandbox({ runtime, policy: { timeout_seconds: 100 } });
  return await sandbox.execute(code, options);
}

export const python = (code: string, options?: ExecuteOptions) => run('python', code, options);
export const javascript = (code: string, options?: ExecuteOptions) => run('javascript', code, options);

/** Removes the common indentation of a program, so that tests can indent it. */
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
