/** The module `stream/promises`. */
import { load } from '../../node-modules.js';

function call(name, args) {
  const hasOptions =
    args.length > 0 && Object.getPrototypeOf(args.at(-1) ?? 0) === Object.prototype && !args.at(-1).pipe;
  const options = hasOptions ? args.pop() : {};
  return new Promise((resolve, reject) => {
    const stream = load('node:stream');
    const run = stream[name];
    const { signal } = options;
    const onEnd = (error, value) => (error ? reject(error) : resolve(value));
    if (name === 'finished') run(args[0], options, onEnd);
    else
      run(
        ...(signal === undefined
          ? args
          : args.map((one) => (one?.pipe ? stream.addAbortSignal(signal, one) : one))),
        onEnd,
      );
  });
}

export const pipeline = (...streams) => call('pipeline', streams);
export const finished = (stream, options = {}) => call('finished', [stream, options]);
export default { pipeline, finished };
