/** `batch`: runs the programs of an NDJSON file and prints one result per line, in the same order. */
import { createReadStream } from 'node:fs';
import { runBatch } from '../../session/run-batch.ts';
import {
  jobsOption,
  type LimitFlags,
  limitOptions,
  limitPolicy,
  PROGRAMS_ARGUMENT,
} from '../batch-options.ts';
import { BatchProgress } from '../batch-progress.ts';
import type { CommandDetails } from '../command.ts';
import { NdjsonPrograms, programFileSize } from '../ndjson-programs.ts';
import { resultSubcommand, submitSubcommand } from './batch-jobs.ts';

interface BatchFlags extends LimitFlags {
  readonly jobs?: number;
}

async function runFile(path: string | undefined, flags: BatchFlags): Promise<void> {
  const isFile = path !== undefined && path !== '-';
  const totalBytes = isFile ? await programFileSize(path) : undefined;
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const input = isFile ? createReadStream(path) : process.stdin;
  const reader = new NdjsonPrograms(input);
  const progress = new BatchProgress(() => (totalBytes ? reader.bytesRead / totalBytes : undefined));
  const { jobs } = flags;
  const policy = limitPolicy(flags);
  const options = { policy, signal: cancel.signal, ...(jobs !== undefined && { jobs }) };
  for await (const result of runBatch(reader.programs(), options)) {
    progress.count(result);
    if (!process.stdout.write(`${JSON.stringify(result)}\n`))
      await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  // Standard input that stays open would keep a cancelled process running.
  input.destroy();
  process.off('SIGINT', stop).off('SIGTERM', stop);
  progress.end(cancel.signal.aborted);
  if (cancel.signal.aborted) process.exitCode = 130;
  else if (progress.invalid > 0) process.exitCode = 1;
}

export const batchCommand: CommandDetails = {
  subcommands: [
    {
      name: 'run',
      description: 'Run the programs in an NDJSON file and print their results as NDJSON',
      arguments: { '[FILE]': PROGRAMS_ARGUMENT },
      options: [jobsOption(), ...limitOptions()],
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
