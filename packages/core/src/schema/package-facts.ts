/** The facts about a vendored or added package that listings and documentation show. */
import * as z from 'zod';
import { runtimeName } from './names.ts';

/** A vendored or added package, with the measured fuel of its imports. */
export const packageFacts = z.object({
  language: runtimeName,
  name: z.string().describe('Name of the package, as installers use it.'),
  import_names: z.array(z.string()).describe('Modules that programs import.'),
  version: z.string().describe('Version of the package.'),
  heavy: z.boolean().describe('Whether the first import uses a large part of the default fuel budget.'),
  measured_imports: z.array(z.string()).describe('Imports that were measured.'),
  fuel_first_import: z.number().int().describe('Fuel that the first import in a fresh guest uses.'),
  fuel_cached_import: z.number().int().describe('Fuel that a repeated import uses.'),
  warm: z.boolean().describe('Whether the package is preloaded in every guest.'),
  use: z.string().describe('What the package is for.'),
  licence: z.string().describe('Licence as an SPDX expression.'),
});
/** A vendored or added package, with the measured fuel of its imports. */
export interface PackageFacts extends z.infer<typeof packageFacts> {}
