/**
 * Writes and reads the prepared C programs: for each a metered module and the image of its memory, and a description with
 * their digests. Threads read a program when a guest first starts it.
 *
 * packages/core/dist/guests/programs/ programs.json, and in the part `programs` <name>.wasm, <name>.image, files.pack
 *
 * bash has a package of its own, @llm-wasm-sandbox/bash, because of its licence.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompiledModule } from '../../engine/guest.ts';
import { type Image, readImage } from '../../engine/image.ts';
import { imageDigest } from '../../engine/image-identity.ts';
import { sha256Hex } from '../../framing/digest.ts';
import { installedFile } from '../../host/install-folder.ts';
import { findFile, partProblem } from '../../host/parts.ts';
import { replaceFileSync, SHARED_FILE } from '../../host/replace-file.ts';
import { damagedFile, type PackFacts } from '../../host/shared-layer.ts';
import { compileValid } from '../../host/v8-flags.ts';
import { OWN_PROGRAMS } from './program-folders.ts';
import {
  FILES_PACK,
  type FoundProgram,
  PROGRAMS_FORMAT,
  type ProgramDescription,
  type ProgramsDescription,
  programsByCommand,
  readProgramList,
} from './program-list.ts';

export interface BuiltProgram extends Omit<ProgramDescription, 'image'> {
  readonly module: Uint8Array;
  readonly image: Uint8Array;
}

/** A program that can be started. */
export interface PreparedProgram {
  readonly compiled: CompiledModule;
  readonly image: Image;
}

/** Whether the programs in a folder were built from these inputs. */
export const arePrepared = (folder: string, inputs: string) => readProgramList(folder)?.inputs === inputs;

/** The description is written last, so that an interrupted build is not considered complete. */
export function writePrograms(
  folder: string,
  programs: readonly BuiltProgram[],
  rest: Pick<ProgramsDescription, 'inputs' | 'scripts'>,
  files?: { readonly facts: PackFacts; readonly pack: Uint8Array },
): void {
  const put = (name: string, bytes: Uint8Array | string) =>
    replaceFileSync(join(folder, name), bytes, SHARED_FILE);
  mkdirSync(folder, { recursive: true });
  const descriptions = programs.map(({ module, image, ...facts }) => {
    put(`${facts.name}.wasm`, module);
    put(`${facts.name}.image`, image);
    return { ...facts, image: { digest: imageDigest(image), bytes: image.length } };
  });
  if (files !== undefined) put(FILES_PACK, files.pack);
  const description: ProgramsDescription = {
    format: PROGRAMS_FORMAT,
    ...rest,
    programs: descriptions,
    ...(files && { files: files.facts }),
  };
  put('programs.json', `${JSON.stringify(description, null, 2)}\n`);
}

const loaded = new Map<string, PreparedProgram>();

/** The program of a command, which this thread compiles when it is first used. Undefined if there is none. */
export function findProgram(command: string): PreparedProgram | undefined {
  const program = programsByCommand().get(command);
  if (program === undefined) return undefined;
  const key = join(program.folder, program.facts.name);
  const before = loaded.get(key);
  if (before !== undefined) return before;
  const read = loadProgram(program);
  loaded.set(key, read);
  return read;
}

const isOwn = ({ folder }: FoundProgram) => folder === installedFile(OWN_PROGRAMS);

/** Why the program of a command cannot be started although the command is known; undefined if it can. */
export function programProblem(command: string): string | undefined {
  const program = programsByCommand().get(command);
  return program !== undefined && isOwn(program) ? partProblem('programs') : undefined;
}

function loadProgram(program: FoundProgram): PreparedProgram {
  const { name, minPages, stateGlobals, origin } = program.facts;
  const find = (file: string) =>
    isOwn(program) ? findFile(`${OWN_PROGRAMS}/${file}`) : join(program.folder, file);
  const bytes = readVerified(find(`${name}.wasm`), origin.module);
  return {
    compiled: { module: compileValid(bytes), minPages, stateGlobals },
    image: readImage(readFileSync(find(`${name}.image`)), origin),
  };
}

/** The bytes of a file with this SHA-256. */
export function readVerified(path: string, digest: string): Uint8Array {
  const bytes = readFileSync(path);
  if (sha256Hex(bytes) !== digest) throw damagedFile(path, 'its digest does not match');
  return bytes;
}
