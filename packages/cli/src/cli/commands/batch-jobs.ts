/** `batch submit` and `batch result`: the programs of an NDJSON file as jobs, which workers run. */

import { createReadStream } from 'node:fs';
import { checkBatchProgram, formatItems, SandboxError } from '@llm-wasm-sandbox/core/internal';
import type { JobQueue, SubmittedJob } from '@llm-wasm-sandbox/server/jobs';
import { JOB_STORE_OPTION, jobStoreAddress, PROGRAMS_ARGUMENT } from '../batch-options.ts';
import { printJson, printResults } from '../batch-progress.ts';
import type { CommandSpec } from '../command.ts';
import { printLines } from '../diagnostics.ts';
import { NdjsonPrograms, programFileSize } from '../ndjson-programs.ts';
import { options } from '../shared-options.ts';

interface JobFlags {
  readonly store?: string;
  readonly tenant?: string;
  readonly priority?: number;
  readonly watch?: boolean;
}

/** Programs that are submitted together. */
const CHUNK = 1000;

async function openQueue({ store, tenant }: JobFlags): Promise<JobQueue> {
  const { openJobQueue } = await import('@llm-wasm-sandbox/server/jobs');
  return openJobQueue({ connectionString: jobStoreAddress(store), ...(tenant !== undefined && { tenant }) });
}

async function submit(path: string | undefined, flags: JobFlags): Promise<void> {
  const isFile = path !== undefined && path !== '-';
  if (isFile) await programFileSize(path);
  await using queue = await openQueue(flags);
  const input = isFile ? createReadStream(path) : process.stdin;
  const ids: string[] = [];
  let chunk: { readonly index: number; readonly program: unknown }[] = [];
  let index = 0;
  let invalid = 0;
  const flush = async () => {
    const { priority } = flags;
    const submitted = await submitValid(queue, chunk, priority === undefined ? {} : { priority });
    chunk = [];
    for (const line of submitted) {
      if (line.job_id === undefined) invalid++;
      else ids.push(line.job_id);
      if (!flags.watch || line.job_id === undefined) await printJson(line);
    }
  };
  for await (const program of new NdjsonPrograms(input).programs()) {
    chunk.push({ index: index++, program });
    if (chunk.length >= CHUNK) await flush();
  }
  await flush();
  printLines(`Submitted ${formatItems(ids.length, 'job')}.`);
  if (flags.watch) await watch(queue, ids);
  if (invalid > 0) process.exitCode = 1;
}

interface SubmittedLine {
  readonly index: number;
  readonly job_id?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Submits the valid programs of a chunk in one transaction. */
async function submitValid(
  queue: JobQueue,
  chunk: readonly { readonly index: number; readonly program: unknown }[],
  settings: { readonly priority?: number },
): Promise<SubmittedLine[]> {
  const checked = chunk.map(({ index, program }) => ({ index, program: checkBatchProgram(program) }));
  const valid = checked.flatMap(({ program }) => (program instanceof SandboxError ? [] : [program]));
  const ids = valid.length > 0 ? await queue.submitMany(valid, settings) : [];
  return checked.map(({ index, program }) => {
    if (program instanceof SandboxError)
      return { index, error: { code: program.code, message: program.message } };
    return { index, job_id: ids.shift()! };
  });
}

const watch = (queue: JobQueue, ids: readonly string[]) =>
  printResults(
    (signal) => queue.results(ids, { signal }),
    (done) => done / ids.length,
  );

async function showResults(ids: readonly string[], flags: JobFlags): Promise<void> {
  await using queue = await openQueue(flags);
  // The queue is closed when this function returns.
  if (flags.watch) await watch(queue, ids);
  else await printJobs(queue, ids);
}

async function printJobs(queue: JobQueue, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const found: SubmittedJob | undefined = await queue.result(id);
    if (found === undefined)
      throw new SandboxError('file_not_found', `This tenant has no job ${id}. Check the id and --tenant.`);
    await printJson(found);
  }
}

const TENANT_OPTION = { '--tenant <NAME>': 'Tenant that the jobs belong to (default: an empty name)' };

export const submitSubcommand: CommandSpec<JobFlags> = {
  name: 'submit',
  description: 'Submit the programs in an NDJSON file as jobs and print their ids',
  arguments: { '[FILE]': PROGRAMS_ARGUMENT },
  options: options({
    ...JOB_STORE_OPTION,
    ...TENANT_OPTION,
    '--priority <N>': 'Jobs with a higher priority run first (default: 0)',
    '--watch': 'Wait for the jobs and print their results in the order of the programs',
  }),
  examples: ['batch submit programs.ndjson --store postgres://db/jobs --watch > results.ndjson'],
  action: ([path], flags) => submit(path, flags),
};

export const resultSubcommand: CommandSpec<JobFlags> = {
  name: 'result',
  description: 'Print the state of jobs and, if they have ended, their results',
  arguments: { '<JOB_ID...>': 'Ids printed by "batch submit"' },
  options: options({ ...JOB_STORE_OPTION, ...TENANT_OPTION, '--watch': 'Wait until the jobs have ended' }),
  examples: ['batch result 0d7bd5a6-2f5a-4a0b-8d8f-3f1f0c1f4f7e --watch'],
  action: (ids, flags) => showResults(ids as string[], flags),
};
