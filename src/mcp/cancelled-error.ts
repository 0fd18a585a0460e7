/** The call was cancelled before it started. The message is for the model. */
export class CancelledError extends Error {
  readonly code = 'cancelled';
}
