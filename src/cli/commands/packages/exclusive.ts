/** Lets only one command at a time change the added packages, across all processes of the user. */
import { withPackagesLock } from '../../../packages/lock-packages.ts';
import { printNote } from '../../diagnostics.ts';
import type { PackagesAction } from './subcommand.ts';

/** The action, which starts once no other command is changing the added packages. */
export const exclusive =
  (action: PackagesAction): PackagesAction =>
  (names, flags) =>
    withPackagesLock(
      () => action(names, flags),
      () => printNote('waiting for another command that changes the added packages'),
    );
