/** The limits and mounts of calls in the default workspace and of sessions that do not set others. */
import { basename, resolve } from 'node:path';
import type { PolicyInput } from '@llm-wasm-sandbox/core/internal';
import type { ServerSettings } from './settings.ts';

export function basePolicy(settings: ServerSettings): PolicyInput {
  const { fuel_budget, memory_bytes, timeout_seconds, error_guidance, fuel_analysis } = settings;
  const mounts = externalMounts(settings.external_files);
  return { fuel_budget, memory_bytes, timeout_seconds, error_guidance, fuel_analysis, mounts };
}

/** A single path is mounted at /external, several at /external/<base name>. */
function externalMounts(paths: readonly string[]) {
  const guestPath = (path: string) =>
    paths.length === 1 ? '/external' : `/external/${basename(resolve(path))}`;
  return paths.map((path) => ({ host_path: path, guest_path: guestPath(path) }));
}
