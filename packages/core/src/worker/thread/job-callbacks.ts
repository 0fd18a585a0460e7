/** Where a run takes its guests from and sends its messages to: the main thread, or idle optimisation. */
import type { FromWorker } from '../protocol/messages.ts';
import type { SessionGuests } from './session-guests.ts';

export interface JobCallbacks {
  readonly guests: Pick<SessionGuests, 'take' | 'makeRoom' | 'put'>;
  send(message: FromWorker): void;
  /** Called when the guest is ready and the time of the program starts. */
  reportStart(id: number): void;
  /** Receives the fuel of the run between two slices. */
  reportFuel(fuelConsumed: number): void;
  /** Whether to stop the run at once. Called between two slices. */
  isAbandoned?(): boolean;
  /** Fuel between two slices. Default: that of the job. */
  readonly sliceFuel?: number;
}
