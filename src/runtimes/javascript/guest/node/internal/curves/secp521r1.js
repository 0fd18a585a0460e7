import { p521 as curve } from '@noble/curves/nist.js';

// A table of multiples would cost more than it saves in a program.
curve.Point.BASE.precompute(1);

export { curve };
