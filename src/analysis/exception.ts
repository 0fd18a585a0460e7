/** Reading an exception as the runtime reported it: which class it really is, which errno, which path it was about. */
import type { GuestError } from '../schema.ts';
import type { RunFacts } from './input.ts';
import { ERRNO, type ErrnoName } from './known.ts';
import { cut } from './quote.ts';

/** `FileNotFoundError: message`, on one line. */
export function messageOf(error: GuestError): string {
  const message = cut(error.message, 300);
  return message === '' ? cut(error.type) : `${cut(error.type)}: ${message}`;
}

/** The exception of a Python run if it is exactly one of these built-in classes and the program did not raise it itself. */
export function builtin(facts: RunFacts, ...types: readonly string[]): GuestError | undefined {
  const { error } = facts;
  if (facts.runtime !== 'python' || error === undefined || error.raised === true) return undefined;
  return error.module === 'builtins' && types.includes(error.type) ? error : undefined;
}

/** The exception of a Python run if its class comes from this module of the library. */
export function fromModule(facts: RunFacts, ...modules: readonly string[]): GuestError | undefined {
  const { error } = facts;
  if (facts.runtime !== 'python' || error === undefined || error.raised === true) return undefined;
  return error.module !== undefined && modules.includes(error.module) ? error : undefined;
}

/** The exception of a JavaScript run if it is one the engine throws and the line is not a throw of the program's own. */
export function engineError(facts: RunFacts, ...types: readonly string[]): GuestError | undefined {
  const { error } = facts;
  if (facts.runtime !== 'javascript' || error === undefined || error.raised === true) return undefined;
  return types.includes(error.type) ? error : undefined;
}

/** The first capture group, if the message is exactly of this form. */
export function capture(error: GuestError | undefined, pattern: RegExp): string | undefined {
  return error === undefined ? undefined : (pattern.exec(error.message)?.[1] ?? undefined);
}

const names = {
  python: new Map(Object.entries(ERRNO.python).map(([name, value]) => [value, name as ErrnoName])),
  javascript: new Map(Object.entries(ERRNO.javascript).map(([name, value]) => [value, name as ErrnoName])),
} as const;

/** The system error behind an exception, if there is one. */
export function errnoOf(facts: RunFacts): ErrnoName | undefined {
  const { error } = facts;
  if (typeof error?.errno !== 'number' || error.raised === true) return undefined;
  if (facts.runtime === 'python' && error.kind !== undefined && !SYSTEM_ERRORS.test(error.kind))
    return undefined;
  return (names[facts.runtime] as ReadonlyMap<number, ErrnoName>).get(error.errno);
}

const SYSTEM_ERRORS =
  /^(OSError|FileNotFoundError|PermissionError|FileExistsError|IsADirectoryError|NotADirectoryError|BlockingIOError|ConnectionError|TimeoutError)$/;

// ---- paths ----

/** An absolute path without "." and ".."; relative ones start from the folder the program was in. */
export function absolute(path: string, cwd = '/app'): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).slice(0, 4096).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

const below = (path: string, root: string) => path === root || path.startsWith(`${root}/`);

export type Place = 'app' | 'tmp' | 'mount' | 'outside';

/** Which part of the guest's world a path belongs to. */
export function placeOfPath(path: string, facts: RunFacts): Place {
  if (/^[A-Za-z]:[\\/]/.test(path)) return 'outside';
  const full = absolute(path, facts.error?.cwd);
  if (below(full, '/app')) return 'app';
  if (below(full, '/tmp')) return 'tmp';
  return facts.mounts.some((mount) => below(full, mount)) ? 'mount' : 'outside';
}
