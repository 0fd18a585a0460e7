import { ed25519 as curve } from '@noble/curves/ed25519.js';

// A table of multiples would cost more than it saves in a program.
curve.Point.BASE.precompute(1);

export { curve };
