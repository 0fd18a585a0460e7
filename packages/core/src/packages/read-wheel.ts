/**
 * Reads wheels. Each is verified against its RECORD and unpacked in a thread when a process first uses it; after that, its
 * description is used for as long as the file does not change, and its contents are read again only if an image must be built.
 */
import { type BigIntStats, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { invalidArgument } from '../errors.ts';
import { fileVersion, isSettled } from '../host/read-host-tree.ts';
import type { PackageFacts } from '../schema.ts';
import { parseWheelName } from './check-wheel-contents.ts';
import { computeDigests, type PackageFile } from './package-files.ts';
import {
  describeContents,
  type PackageDescription,
  type UnpackedWheel,
  type UnpackWheel,
} from './unpack-wheel.ts';
import { normalisedName } from './wheel-metadata.ts';

/** Descriptions that a process keeps. The oldest are discarded first. */
const MAX_DESCRIPTIONS = 512;

/** One wheel or folder. */
export interface PackagePart extends PackageDescription {
  readonly facts?: PackageFacts;
  /** Name and version. */
  readonly label?: string;
  files(): Promise<readonly PackageFile[]>;
}

/** By path and version of the file. */
const descriptions = new Map<string, Promise<PackageDescription>>();

/** The wheel at a path. */
export async function wheelPart(path: string, unpack: UnpackWheel): Promise<PackagePart> {
  const stat = statSync(path, { bigint: true });
  const key = `${resolve(path)}\0${fileVersion(stat)}`;
  const known = await descriptions.get(key)?.catch(() => undefined);
  const wheel = { name: basename(path), source: path };
  const { name, version } = parseWheelName(wheel.name) ?? {};
  const labelled = name === undefined ? {} : { label: `${normalisedName(name)} ${version}` };
  if (known !== undefined)
    return {
      ...known,
      ...labelled,
      files: async () => checkUnchanged(await unpack(wheel), known, wheel.name),
    };
  const unpacked = unpack(wheel);
  const description = unpacked.then((one) => one.description);
  remember(key, stat, description);
  return { ...(await description), ...labelled, files: async () => (await unpacked).files };
}

function remember(key: string, stat: BigIntStats, description: Promise<PackageDescription>): void {
  if (!isSettled(stat)) return;
  descriptions.set(key, description);
  if (descriptions.size > MAX_DESCRIPTIONS) descriptions.delete(descriptions.keys().next().value!);
  description.catch(() => descriptions.delete(key));
}

function checkUnchanged(
  { files, description }: UnpackedWheel,
  { digest }: PackageDescription,
  name: string,
): readonly PackageFile[] {
  if (description.digest === digest) return files;
  throw invalidArgument(`packages: ${name} changed while it was being read; try again.`);
}

/** Packages whose files are in memory. */
export async function partOf(files: readonly PackageFile[]): Promise<PackagePart> {
  await computeDigests(files);
  return { ...describeContents(files), files: async () => files };
}
