import { x448 as curve, ed448 } from '@noble/curves/ed448.js';

// A table of multiples would cost more than it saves in a program.
ed448.Point.BASE.precompute(1);

export { curve };
