/**
 * Copies into the package what `npm run build` has prepared, and the build scripts, shims and patches: with the archive of
 * bash they are its corresponding source.
 */
import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = fileURLToPath(new URL('built', import.meta.url));
rmSync(built, { recursive: true, force: true });
cpSync(fileURLToPath(new URL('../../dist/guests/bash', import.meta.url)), built, { recursive: true });
const recipe = fileURLToPath(new URL('recipe', import.meta.url));
rmSync(recipe, { recursive: true, force: true });
cpSync(fileURLToPath(new URL('../../programs/build', import.meta.url)), recipe, { recursive: true });
