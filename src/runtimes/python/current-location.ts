/**
 * Where a Python program stood when its guest was stopped in the middle of C code: the frames of the interpreter, from
 * the innermost out. Nothing is let go afterwards, because nothing of the guest is kept.
 */
import type { Guest } from '../../engine/guest.ts';
import type { SourceLocation } from '../runtime.ts';
import { withText } from './c-string.ts';

/** Frames that are looked at: deep recursion has many more, all of them at the same few lines. */
const MAX_FRAMES = 200;
/** The names that the boot script gives to the programs of an interpreter. */
const PROGRAM_FILE = /^\/app\/(?:main|call-\d+)\.py$/;

/** The innermost line of the program of this call, or else of an earlier one. */
export function currentLocation(guest: Guest, call: number): SourceLocation | undefined {
  const current = call === 1 ? '/app/main.py' : `/app/call-${call}.py`;
  let earlier: SourceLocation | undefined;
  let frame = guest.call('PyThreadState_GetFrame', attachedThread(guest));
  for (let i = 0; frame !== 0 && i < MAX_FRAMES; i++) {
    const file = fileOf(guest, frame);
    if (PROGRAM_FILE.test(file)) {
      const line = guest.call('PyFrame_GetLineNumber', frame);
      if (file === current) return { line };
      earlier ??= { line, file };
    }
    frame = guest.call('PyFrame_GetBack', frame);
  }
  return earlier;
}

/** The interpreter's thread state; C code that waits or computes at length lets go of it meanwhile. */
function attachedThread(guest: Guest): number {
  const attached = guest.call('PyThreadState_GetUnchecked');
  if (attached !== 0) return attached;
  const own = guest.call('PyGILState_GetThisThreadState');
  if (own === 0) return guest.abort('the interpreter has no thread');
  guest.call('PyEval_RestoreThread', own);
  return own;
}

function fileOf(guest: Guest, frame: number): string {
  const code = guest.call('PyFrame_GetCode', frame);
  const name = withText(guest, 'co_filename', (text) => guest.call('PyObject_GetAttrString', code, text));
  const text = name === 0 ? 0 : guest.call('PyUnicode_AsUTF8', name);
  return text === 0 ? '' : guest.view.path(text);
}
