/** A global variable of a session, as the guest describes it. */
import * as z from 'zod';

export const variable = z.object({
  name: z.string().max(200).describe('Name of the variable.'),
  type: z.string().max(200).describe('Type of the value in the guest.'),
  repr: z.string().max(400).describe('Short form of the value.'),
});
/** A global variable of a session. */
export interface Variable extends z.infer<typeof variable> {}
