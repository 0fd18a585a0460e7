/** The explanations a result may carry, as tools hand them on. */
import { z } from 'zod';
import type { SandboxResult } from '../schema.ts';

export const errorGuidance = z.object({
  error_type: z.string(),
  error_message: z.string(),
  actionable_guidance: z.array(z.string()).describe('What to know and do, most important first.'),
  related_docs: z.array(z.string()).describe('Files of this package, with the section.'),
  code_examples: z.array(z.string()).optional(),
});

export const fuelAnalysis = z.object({
  consumed: z.number().int(),
  budget: z.number().int(),
  utilization_percent: z.number(),
  status: z.enum(['efficient', 'moderate', 'warning', 'critical', 'exhausted']),
  recommendation: z.string().nullable(),
  likely_causes: z.array(z.string()),
});

/** A result with its explanations, where the library gave any. */
export type Guided = SandboxResult & {
  readonly metadata: {
    readonly error_guidance?: z.infer<typeof errorGuidance>;
    readonly fuel_analysis?: z.infer<typeof fuelAnalysis>;
  };
};
