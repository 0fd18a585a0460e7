/**
 * Finds the line that a Python program was executing when its guest was stopped inside C code, by walking the frames of
 * the interpreter. References are not released, because the guest is discarded afterwards.
 */
import type { Guest } from '../../engine/guest.ts';
import { programFile } from '../language.ts';
import type { SourceLocation } from '../runtime.ts';
import { withCString } from './c-string.ts';
import { pythonLanguage } from './language.ts';

/** Frames to visit. Deep recursion has more, but they repeat the same few lines. */
const MAX_FRAMES = 200;
/** The file names under which the boot script compiles programs. */
const PROGRAM_FILE = /^\/app\/(?:main|call-\d+)\.py$/;

/** The innermost line of the program of this call, or otherwise of an earlier call. */
export function currentLocation(guest: Guest, call: number): SourceLocation | undefined {
  const current = programFile(pythonLanguage, call);
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

/** The interpreter's thread state. C code detaches it while it waits or computes for a long time. */
function attachedThread(guest: Guest): number {
  const attached = guest.call('PyThreadState_GetUnchecked');
  if (attached !== 0) return attached;
  const detached = guest.call('PyGILState_GetThisThreadState');
  if (detached === 0) return guest.abort('the interpreter has no thread state');
  guest.call('PyEval_RestoreThread', detached);
  return detached;
}

function fileOf(guest: Guest, frame: number): string {
  const code = guest.call('PyFrame_GetCode', frame);
  const name = withCString(guest, 'co_filename', (text) => guest.call('PyObject_GetAttrString', code, text));
  const text = name === 0 ? 0 : guest.call('PyUnicode_AsUTF8', name);
  return text === 0 ? '' : guest.view.path(text);
}
