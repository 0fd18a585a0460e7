/** A global variable of a session, as the guest describes it. */
import * as z from 'zod';

export const variable = z.object({
  name: z.string().max(200),
  type: z.string().max(200),
  repr: z.string().max(400),
});

/** A global variable of a session. */
export interface Variable {
  /** Name of the variable. */
  name: string;
  /** Type of the value in the guest. */
  type: string;
  /** Short form of the value. */
  repr: string;
}
