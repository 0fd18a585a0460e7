/** `batch`: runs the programs of an NDJSON file and prints one result per line, in the same order. */
import { createReadStream } from 'node:fs';
import { runBatch } from '@llm-wasm-sandbox/core/internal';
import {
  JOBS_OPTION,
  LIMIT_OPTIONS,
  type LimitFlags,
  limitPolicy,
  PROGRAMS_ARGUMENT,
} from '../batch-options.ts';
import { printResults } from '../batch-progress.ts';
import type { CommandDetails } from '../command.ts';
import { NdjsonPrograms, programFileSize } from '../ndjson-programs.ts';
import { options } from '../shared-options.ts';
import { resultSubcommand, submitSubcommand } from './batch-jobs.ts';

interface BatchFlags extends LimitFlags {
  readonly jobs?: number;
}

async function runFile(path: string | undefined, flags: BatchFlags): Promise<void> {
  const isFile = path !== undefined && path !== '-';
  const totalBytes = isFile ? await programFileSize(path) : undefined;
  const input = isFile ? createReadStream(path) : process.stdin;
  const reader = new NdjsonPrograms(input);
  const { jobs } = flags;
  await printResults(
    (signal) =>
      runBatch(reader.programs(), {
        policy: limitPolicy(flags),
        signal,
        ...(jobs !== undefined && { jobs }),
      }),
    () => (totalBytes ? reader.bytesRead / totalBytes : undefined),
  );
  // Standard input that stays open would keep a cancelled process running.
  input.destroy();
}

const command: CommandDetails = {
  subcommands: [
    {
      name: 'run',
      description: 'Run the programs in an NDJSON file and print their results as NDJSON',
      arguments: { '[FILE]': PROGRAMS_ARGUMENT },
      options: options({ ...JOBS_OPTION, ...LIMIT_OPTIONS }),
      examples: [
        'batch run programs.ndjson > results.ndjson',
        'batch run --jobs 8 --timeout 5 < programs.ndjson',
      ],
      action: ([path], flags) => runFile(path, flags as BatchFlags),
    },
    submitSubcommand,
    resultSubcommand,
  ],
};

export default command;
