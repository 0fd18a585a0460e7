/** Builds the guest of the bash runtime: a shell that has started and waits for its first program. */
import type { Guest } from '../../../engine/guest.ts';
import type { Entry } from '../../../fs/flat-entries.ts';
import type { RuntimeBuild } from '../../build/runtime-build.ts';
import { USER_ENV } from '../../programs/account.ts';
import { FORK_EXPORTS, initialise, PROGRAM_EXPORTS } from '../../programs/run-program.ts';
import { callForking } from '../../programs/suspendable-program.ts';
import { type Handles, LAYER_TIME_MS } from '../../runtime.ts';
import { bash } from '../index.ts';

/** Of shims/bash-session.c. */
const SESSION_EXPORTS = [
  'bash_start',
  'bash_setup',
  'bash_eval',
  'bash_output',
  'bash_end',
  'bash_interrupt',
  'bash_state',
];

function boot(guest: Guest): Handles {
  initialise(guest);
  callForking(guest, 'bash_start', []);
  const state = guest.call('bash_state') >>> 0;
  const [line, running, variables] = [0, 4, 8].map((offset) => guest.view.u32(state + offset));
  return { line: line!, function: running!, variables: variables! };
}

const { USER, HOME, SHELL } = USER_ENV;
const PASSWD = `${USER}:x:0:0:${USER}:${HOME}:${SHELL}\n`;

const file = (path: string, text: string): Entry => ({
  path,
  kind: 'file',
  mode: 0o644,
  mtimeMs: LAYER_TIME_MS,
  data: new TextEncoder().encode(text),
});

export const build: RuntimeBuild = {
  runtime: bash,
  binary: {
    specifier: './packages/bash/bash.wasm',
    sha256: 'd8cbe3a37f18317332f42b5cc54f11e2e5ab27acd9a4fa95dbadf04ecd918810',
  },
  prepare: {
    exports: [...PROGRAM_EXPORTS, ...FORK_EXPORTS, ...SESSION_EXPORTS],
    stackPointer: '__stack_pointer',
  },
  bootEnv: { PWD: USER_ENV.HOME, TERM: 'dumb', ...USER_ENV },
  buildLayers: async () => [{ at: '/etc', entries: [file('group', 'root:x:0:\n'), file('passwd', PASSWD)] }],
  boot,
};
