/**
 * `stack` of errors as V8 has it. The engine's stack begins with the first frame; programs expect a line with the name and
 * the message before it.
 */

const original = Object.getOwnPropertyDescriptor(Error.prototype, 'stack');
const { defineProperty } = Object;
const { call } = Function.prototype;
const getOriginal = call.bind(original.get);

/** Name and message, like Error.prototype.toString. */
export function headline(error) {
  const name = error.name === undefined ? 'Error' : String(error.name);
  const message = error.message === undefined ? '' : String(error.message);
  return name === '' ? message : message === '' ? name : `${name}: ${message}`;
}

/** The frames of the stack, without the line before them. */
export function framesOf(error) {
  const stack = error.stack;
  if (typeof stack !== 'string') return '';
  const at = stack.search(/^ {4}at /m);
  return at < 0 ? '' : stack.slice(at);
}

const captureFrames = Error.captureStackTrace;
const { prototype } = Error;

/** Error.captureStackTrace, with the line before the frames. */
function captureStackTrace(target, constructor = captureStackTrace) {
  captureFrames(target, constructor);
  const frames = target.stack;
  if (typeof frames !== 'string') return;
  target.stack = `${headline(target)}${frames === '' ? '' : '\n'}${frames.trimEnd()}`;
}
defineProperty(Error, 'captureStackTrace', {
  value: captureStackTrace,
  writable: true,
  configurable: true,
  enumerable: false,
});

defineProperty(prototype, 'stack', {
  get() {
    const frames = getOriginal(this);
    if (typeof frames !== 'string' || (frames !== '' && !frames.startsWith('    at '))) return frames;
    return `${headline(this)}${frames === '' ? '' : '\n'}${frames.trimEnd()}`;
  },
  set(value) {
    defineProperty(this, 'stack', { value, writable: true, configurable: true, enumerable: false });
  },
  configurable: true,
  enumerable: false,
});
