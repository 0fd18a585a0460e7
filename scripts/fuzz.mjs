/** Starts test/fuzz/main.ts. Needs a build. */
import './typescript.mjs';

await import('../test/fuzz/main.ts');
