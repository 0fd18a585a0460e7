/**
 * What the chart renderer is built of, in packages/core/dist/guests/charts/: the image of the JavaScript guest that has loaded Vega, the
 * metered rasteriser with its image, and the fonts. A thread reads them when a program first displays a chart; `charts.json`
 * has their digests.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readImage } from '../engine/image.ts';
import { SandboxError } from '../errors.ts';
import { findFile } from '../host/parts.ts';
import { sharedFile } from '../host/shared-file.ts';
import { compileValid } from '../host/v8-flags.ts';
import { findAssets, type GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { RENDERER_RUNTIME } from '../runtimes/javascript/vega-guest.ts';
import { type BuiltProgram, readVerified } from '../runtimes/programs/program-files.ts';
import type { Rasteriser } from './rasteriser.ts';

interface ChartsDescription {
  inputs: string;
  image: { digest: string; bytes: number };
  minMemoryBytes: number;
  rasteriser: Pick<BuiltProgram, 'minPages' | 'stateGlobals' | 'origin'>;
  fontFamily: string;
  /** SHA-256 of each font. */
  fonts: string[];
}

export const CHARTS_FOLDER = 'guests/charts';
export const fontName = (i: number) => `font-${i}.ttf`;
/** The path of a file, which may be in a part of the installation. Throws if that is not installed. */
const find = (name: string) => findFile(`${CHARTS_FOLDER}/${name}`);

export function readChartsDescription(): ChartsDescription | undefined {
  const path = find('charts.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ChartsDescription) : undefined;
}

function description(): ChartsDescription {
  const found = readChartsDescription();
  if (found !== undefined) return found;
  throw new SandboxError(
    'not_installed',
    'The chart renderer is not built. Run "npm run build" in a checkout, or install the package again.',
  );
}

/** The assets of the guest that runs Vega: those of its runtime with another image. */
export function findRenderer(): GuestAssets {
  const { image, minMemoryBytes } = description();
  return {
    ...findAssets(RENDERER_RUNTIME),
    id: 'charts',
    image: sharedFile(find('vega.image'), image.bytes),
    imageDigest: image.digest,
    minMemoryBytes,
  };
}

let rasteriser: Rasteriser | undefined;

/** The rasteriser of this thread. */
export function sharedRasteriser(): Rasteriser {
  rasteriser ??= loadRasteriser();
  return rasteriser;
}

/** Reads, verifies and compiles the rasteriser. */
function loadRasteriser(): Rasteriser {
  const { rasteriser, fontFamily, fonts } = description();
  const { minPages, stateGlobals, origin } = rasteriser;
  const module = compileValid(readVerified(find('resvg.wasm'), origin.module));
  return {
    compiled: { module, minPages, stateGlobals },
    image: readImage(readFileSync(find('resvg.image')), origin),
    fonts: fonts.map((digest, i) => readVerified(find(fontName(i)), digest)),
    fontFamily,
  };
}
