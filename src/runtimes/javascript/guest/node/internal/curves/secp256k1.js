import { secp256k1 as curve } from '@noble/curves/secp256k1.js';

// A table of multiples would cost more than it saves in a program.
curve.Point.BASE.precompute(1);

export { curve };
