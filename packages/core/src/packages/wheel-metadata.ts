/**
 * Reads the METADATA of a wheel, which may be hostile: its summary, its licence and its dependencies in a guest. Threads call
 * this, because comparing many versions takes long.
 */
import { oneLine } from '../analysis/quote-guest-text.ts';
import { invalidArgument } from '../errors.ts';
import { formatBytes, formatCount } from '../quantities.ts';
import { appliesToGuests } from './environment-markers.ts';
import type { PackageFile } from './package-files.ts';

export interface Requirement {
  /** Normalised name. */
  readonly name: string;
  /** Version specifiers such as `>=1.26,<3`; empty if any version is accepted. */
  readonly specifiers: string;
}

export interface WheelMetadata {
  readonly summary: string;
  readonly licence: string;
  readonly requires: readonly Requirement[];
}

const MAX_TEXT = 120;
const MAX_REQUIREMENT = 500;
const MAX_REQUIREMENTS = 5000;
/** Size of the header of METADATA; the text after it is not read. */
const MAX_HEADER = 1024 * 1024;

/** The name of a package as pip compares it: lower case, with "-" for runs of "-", "_" and ".". */
export const normalisedName = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, '-');

/** Parses a requirement such as `numpy>=1.26; python_version < "3.15"`. Undefined if it is not one. */
export function parseRequirement(text: string): (Requirement & { readonly marker: string }) | undefined {
  const end = text.indexOf(';');
  const [before, marker] = end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
  const name = /^[A-Za-z0-9][\w.-]*/.exec(before.trim())?.[0];
  if (name === undefined || before.length > MAX_REQUIREMENT) return undefined;
  const rest = before.trim().slice(name.length).trim();
  const specifiers = rest.startsWith('[') ? rest.slice(rest.indexOf(']') + 1) : rest;
  const plain = specifiers.replaceAll(/[()\s]/g, '');
  if (plain !== '' && !/^[<>=!~][\w.*+!,<>=~-]*$/.test(plain)) return undefined;
  return { name: normalisedName(name), specifiers: plain, marker: marker.trim() };
}

/** `label` names the wheel in errors. */
export function readMetadata(label: string, files: readonly PackageFile[]): WheelMetadata {
  const file = files.find(({ path }) => /^[^/]+\.dist-info\/METADATA$/.test(path));
  const text = new TextDecoder().decode(file?.data.subarray(0, MAX_HEADER));
  const [start] = text.split(/\r?\n\r?\n/, 1);
  if (start === text && file !== undefined && file.data.length > MAX_HEADER)
    throw tooLong(label, `a header of more than ${formatBytes(MAX_HEADER)}`);
  const header = start!.split(/\r?\n/);
  const field = (name: string) =>
    header.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
  const required = field('Requires-Dist');
  if (required.length > MAX_REQUIREMENTS)
    throw tooLong(label, `more than ${formatCount(MAX_REQUIREMENTS)} requirements`);
  const requires = required
    .map(parseRequirement)
    .filter((one) => one !== undefined)
    .filter(({ marker }) => marker === '' || appliesToGuests(marker))
    .map(({ name, specifiers }) => ({ name, specifiers }));
  return {
    summary: oneLine(field('Summary')[0] ?? '', MAX_TEXT),
    licence: oneLine(field('License-Expression')[0] ?? field('License')[0] ?? '', MAX_TEXT),
    requires,
  };
}

const tooLong = (label: string, what: string) =>
  invalidArgument(`${label} cannot be used: its METADATA has ${what}.`);
