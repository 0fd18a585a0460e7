/** The commands of this installation that are C programs, from the descriptions of the prepared programs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageOrigin } from '../../engine/image-identity.ts';
import type { PackFacts } from '../../host/shared-layer.ts';
import { programFolders } from './program-folders.ts';

export interface ProgramDescription {
  readonly name: string;
  readonly commands: readonly string[];
  readonly minPages: number;
  readonly stateGlobals: readonly string[];
  readonly origin: ImageOrigin;
  readonly image: { readonly digest: string; readonly bytes: number };
}

export interface ProgramsDescription {
  readonly format: number;
  /** Digest of everything that the build depends on. */
  readonly inputs: string;
  readonly programs: readonly ProgramDescription[];
  /** Texts of commands that are scripts for other commands, by name. */
  readonly scripts: Readonly<Record<string, string>>;
  /** The layer with the files that the programs read, in FILES_PACK. */
  readonly files?: PackFacts;
}

export const FILES_PACK = 'files.pack';

export const PROGRAMS_FORMAT = 3;

export function readProgramList(folder: string): ProgramsDescription | undefined {
  const path = join(folder, 'programs.json');
  if (!existsSync(path)) return undefined;
  const found = JSON.parse(readFileSync(path, 'utf8')) as ProgramsDescription;
  return found.format === PROGRAMS_FORMAT ? found : undefined;
}

export interface FoundProgram {
  readonly folder: string;
  readonly facts: ProgramDescription;
}

let found: ReadonlyMap<string, FoundProgram> | undefined;

/** The programs of this installation by command. */
export function programsByCommand(): ReadonlyMap<string, FoundProgram> {
  found ??= new Map(
    programFolders().flatMap((folder) =>
      (readProgramList(folder)?.programs ?? []).flatMap((facts) =>
        facts.commands.map((command) => [command, { folder, facts }] as const),
      ),
    ),
  );
  return found;
}

let scripts: ReadonlyMap<string, string> | undefined;

/** The commands of this installation that are scripts and not C programs: their texts by name. */
export function scriptsByCommand(): ReadonlyMap<string, string> {
  scripts ??= new Map(
    programFolders()
      .flatMap((folder) => Object.entries(readProgramList(folder)?.scripts ?? {}))
      .filter(([name]) => !programsByCommand().has(name)),
  );
  return scripts;
}

/** The names of all C programs. */
export const programCommands = (): string[] => [...programsByCommand().keys()].sort();

/** The names of all C programs and scripts. */
export const availableCommands = (): string[] => [...programCommands(), ...scriptsByCommand().keys()].sort();
