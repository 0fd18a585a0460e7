/** Layout of interpreter frames beyond the offsets that CPython publishes. */

/** References in frames use the lowest bits of a pointer as a tag. */
export const POINTER_MASK = ~3;
/** Globals of a frame, between two of the published offsets. */
export const FRAME_GLOBALS = 12;
