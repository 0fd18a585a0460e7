/** Matches the path of a request with the pattern of a route. */
import { invalidArgument } from '../errors.ts';

/** The segments that the `:` segments of the pattern stand for, decoded; undefined if the path does not match. */
export function matchPath(pattern: string, segments: readonly string[]): string[] | undefined {
  const parts = pattern.split('/');
  if (parts.length !== segments.length) return undefined;
  const params: string[] = [];
  for (const [i, part] of parts.entries()) {
    const segment = segments[i]!;
    if (part === ':') params.push(decode(segment));
    else if (part !== segment) return undefined;
  }
  return params;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidArgument('The path of the request is not a valid URL.');
  }
}
