/** The module `readline`: reads lines of a stream, usually standard input. */
import EventEmitter, { on } from './events.js';
import { AbortError, codedError } from './internal/errors.js';
import { StringDecoder } from './string_decoder.js';

const useAfterClose = () => codedError(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');

export class Interface extends EventEmitter {
  #lines = [];
  #questions = [];
  #buffer = '';
  #decoder = new StringDecoder('utf8');
  #isPaused = false;
  #prompt;

  constructor(inputOrOptions, output = undefined) {
    super();
    const options =
      typeof inputOrOptions?.on === 'function' ? { input: inputOrOptions, output } : inputOrOptions;
    this.input = options.input;
    this.output = options.output;
    this.terminal = false;
    this.closed = false;
    this.line = '';
    this.cursor = 0;
    this.#prompt = options.prompt ?? '> ';
    this.input.on('data', (chunk) =>
      this.#add(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk)),
    );
    this.input.on('end', () => {
      this.#add(this.#decoder.end());
      if (this.#buffer !== '') this.#emitLine(this.#buffer);
      this.#buffer = '';
      this.close();
    });
    this.input.on('error', (error) => this.emit('error', error));
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
    this.input.resume?.();
  }

  #add(text) {
    this.#buffer += text;
    const lines = this.#buffer.split(/\r\n|\n|\r(?!$)|\u2028|\u2029/);
    this.#buffer = lines.pop();
    for (const line of lines) this.#emitLine(line);
  }
  #emitLine(line) {
    if (this.#isPaused) {
      this.#lines.push(line);
      return;
    }
    const question = this.#questions.shift();
    if (question !== undefined) question(line);
    else this.emit('line', line);
  }

  setPrompt(prompt) {
    this.#prompt = prompt;
  }
  getPrompt() {
    return this.#prompt;
  }
  prompt() {
    this.output?.write(this.#prompt);
  }
  question(query, optionsOrCallback, callback = undefined) {
    const answer = typeof optionsOrCallback === 'function' ? optionsOrCallback : callback;
    if (this.closed) throw useAfterClose();
    this.output?.write(query);
    this.#questions.push(answer);
    this.resume();
  }
  pause() {
    this.#isPaused = true;
    this.emit('pause');
    return this;
  }
  resume() {
    if (this.#isPaused) this.emit('resume');
    this.#isPaused = false;
    for (const line of this.#lines.splice(0)) this.#emitLine(line);
    return this;
  }
  /** Adds text to the input. */
  write(text) {
    if (this.closed) throw useAfterClose();
    if (text !== undefined && text !== null) this.#add(`${text}`);
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.input.pause?.();
    this.emit('close');
  }
  async *[Symbol.asyncIterator]() {
    if (this.closed) return;
    try {
      for await (const [line] of on(this, 'line', { close: ['close'] })) yield line;
    } finally {
      this.close();
    }
  }
  [Symbol.dispose]() {
    this.close();
  }
}

export class PromiseInterface extends Interface {
  question(query, options = {}) {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(new AbortError(undefined, { cause: signal.reason }));
      else {
        signal?.addEventListener('abort', () => reject(new AbortError(undefined, { cause: signal.reason })), {
          once: true,
        });
        super.question(query, resolve);
      }
    });
  }
}

const done = (callback) => {
  if (typeof callback === 'function') queueMicrotask(callback);
  return true;
};

/** Standard output is not a terminal, so functions that move its cursor do nothing. */
export default {
  Interface,
  createInterface: (input, output) => new Interface(input, output),
  clearLine: (_stream, _direction, callback) => done(callback),
  clearScreenDown: (_stream, callback) => done(callback),
  cursorTo: (_stream, _x, _y, callback) => done(callback),
  moveCursor: (_stream, _dx, _dy, callback) => done(callback),
  emitKeypressEvents() {},
  promises: {
    Interface: PromiseInterface,
    createInterface: (input, output) => new PromiseInterface(input, output),
  },
};
