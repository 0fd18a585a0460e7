/** Lets Node.js import the TypeScript files of this repository: esbuild removes the types of each file that is loaded. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
