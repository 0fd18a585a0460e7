/** Starts test/soak/main.ts. Needs a build. */
import './typescript.mjs';

await import('../test/soak/main.ts');
