/** Schemas of fields that several settings have in common. */
import { z } from 'zod';

export const MiB = 1024 * 1024;

export const positiveCount = (fallback: number, description: string) =>
  z.number().int().min(1).max(1_000_000).default(fallback).describe(description);
export const stringList = (description: string) =>
  z.array(z.string().min(1)).default([]).describe(description);
