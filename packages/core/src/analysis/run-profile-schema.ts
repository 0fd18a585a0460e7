/**
 * The profile of one run as the worker records it: where the program was at every slice of fuel, and the state of the
 * program at some of them. Plain data; names and values come from guest memory and are untrusted, but bounded.
 */
import * as z from 'zod';
import { MAX_STACKS_CHARS } from '../schema/report-limits.ts';

const text = z.string().max(400);
const amount = z.number().min(0);

const stackFrame = z.strictObject({
  file: text,
  /** Qualified name of the function. */
  function: text,
  /** 0 if unknown. */
  line: z.number().int().min(0),
  /** Where the code comes from: the program with its modules in /app, packages and the standard library, or the boot script. */
  origin: z.enum(['program', 'library', 'runtime']),
});
export interface StackFrame extends Readonly<z.infer<typeof stackFrame>> {}

/** Short texts of variables by name. */
const variables = z.record(z.string(), z.string());
export type Variables = Readonly<z.infer<typeof variables>>;

/** The program at one sample. */
const programState = z.strictObject({
  fuel: amount,
  /** Number of frames, including those of libraries; capped. */
  depth: amount,
  /** The innermost frames of the program, innermost first. */
  stack: z.array(stackFrame).max(100),
  /** Variables of the innermost frames in `stack`; an object whose contents are not shown has its address after "#". */
  variables: z.array(variables).max(10),
  memoryBytes: amount,
});
export interface ProgramState extends Readonly<z.infer<typeof programState>> {}

/** A frame with the fuel of the samples attributed to it. */
const frameFuel = z.strictObject({ frame: stackFrame, fuel: amount });
export interface FrameFuel extends Readonly<z.infer<typeof frameFuel>> {}

export const runProfile = z.strictObject({
  /** The file name of the program of this call. */
  programFile: text,
  samples: amount,
  /** Fuel until the last sample. Every sample accounts for the fuel since the previous one. */
  fuel: amount,
  /** Memory at the first sample. */
  firstMemoryBytes: amount,
  /** Fuel by the innermost line of the program. */
  lines: z.array(frameFuel).max(200),
  /** Fuel by the innermost function, including those of libraries. Lines are those of the function's frames. */
  functions: z.array(frameFuel).max(200),
  /** States at evenly spaced points of a run that reached a limit, in the order of the run; empty for other runs. */
  states: z.array(programState).max(100),
  /** Complete stacks as JSON text, in the form of a result; only if they were requested. */
  stacks: z.string().max(MAX_STACKS_CHARS).optional(),
});
export interface RunProfile extends Readonly<z.infer<typeof runProfile>> {}
