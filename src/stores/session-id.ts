import { SandboxError } from '../errors.ts';
export function checkSessionId(id: string): void {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/.test(id)) throw new SandboxError('invalid_argument', 'session_id');
}
