import { x25519 as curve, ed25519 } from '@noble/curves/ed25519.js';

// A table of multiples would cost more than it saves in a program.
ed25519.Point.BASE.precompute(1);

export { curve };
