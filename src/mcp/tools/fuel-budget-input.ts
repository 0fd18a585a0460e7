/** The argument `fuel_budget` of tools. */
import { z } from 'zod';
import type { ServerSettings } from '../settings.ts';
import { suggestedFuelBudget } from '../tool-descriptions.ts';

export const fuelBudgetInput = (settings: ServerSettings, scope: string) =>
  z
    .number()
    .int()
    .min(1)
    .max(settings.max_fuel_budget)
    .optional()
    .describe(`Maximum number of instructions ${scope}, e.g. ${suggestedFuelBudget(settings)}.`);
