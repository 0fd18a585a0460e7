/** The requests of a program in its result. */
import * as z from 'zod';
import { described, optionalField } from './fields.ts';

export const networkExchange = z.object({
  method: z.string().describe('Method of the request.'),
  url: z.string().describe('URL of the request, at most 2,000 characters.'),
  outcome: described(
    z.enum(['ok', 'refused', 'failed', 'unknown']),
    '`ok`: the response was received as far as the program read it. `refused`: a rule, a limit or a person refused the request, and nothing was sent. `failed`: the request was sent, or was about to be sent, and failed. `unknown`: the run ended during the request.',
  ),
  rule: optionalField(
    z.string(),
    'Pattern of the rule that permitted the request; `approved` if a person did.',
  ),
  repeated: optionalField(
    z.literal(true),
    'Whether the request may have been sent before: it was approved in an earlier resume that was rolled back, undone or interrupted.',
  ),
  status: z.number().int().optional().describe('Status code of the response.'),
  error: z.string().optional().describe('Why the request was refused or failed.'),
  bytes_up: z.number().int().describe('Size of the request body in bytes.'),
  bytes_down: z.number().int().describe('Size of the response body that was received, in bytes.'),
  duration_ms: z.number().describe('Time from the request to the end of the response in milliseconds.'),
});
/** One request of a program. */
export interface NetworkExchange extends z.infer<typeof networkExchange> {}
