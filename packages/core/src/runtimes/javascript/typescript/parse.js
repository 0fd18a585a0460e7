/** Parses TypeScript into tokens. The work is paid for while it is done, because the parser reads ambiguous text repeatedly. */
import { augmentError, initParser, state } from 'sucrase/dist/esm/parser/traverser/base.js';
import { parseFile } from 'sucrase/dist/esm/parser/traverser/index.js';

/** Tokens after which the parser pays for them. */
const TOKENS_PER_STEP = 256;

/** Calls `pay` with the number of tokens that were read, in steps. */
export function payInSteps(pay) {
  let count = 0;
  return () => {
    if (++count % TOKENS_PER_STEP === 0) pay(TOKENS_PER_STEP);
  };
}

/** An error in the source. `unsupported` is set for syntax that is valid but cannot be run. */
export class SourceError extends Error {
  constructor(message, code, at, unsupported = false) {
    super(message);
    const before = code.slice(0, at);
    this.place = [before.split('\n').length, at - before.lastIndexOf('\n')];
    this.unsupported = unsupported;
  }
}

/** The tokens and scopes of the program. `pay` throws when a limit has been reached. */
export function parse(code, pay) {
  initParser(code, false, true, false);
  const { tokens } = state;
  const step = payInSteps(pay);
  // The parser has no other place that every token passes.
  tokens.push = (token) => {
    step();
    return Array.prototype.push.call(tokens, token);
  };
  try {
    const { scopes } = parseFile();
    if (state.error) throw augmentError(state.error);
    return { tokens, scopes };
  } catch (cause) {
    // After an error, the parser reads on and can fail in other ways at the end.
    const error = cause.loc === undefined && state.error ? augmentError(state.error) : cause;
    if (error.loc === undefined) throw cause;
    if (code[error.pos] === '@')
      throw new SourceError(
        'only classes and their members can have decorators, not parameters',
        code,
        error.pos,
        true,
      );
    throw new SourceError(error.message.replace(/ \(\d+:\d+\)$/, ''), code, error.pos);
  } finally {
    delete tokens.push;
  }
}

/** The text with parts of it replaced. `edits` are `{ start, end, text }`, in any order. */
export function applyEdits(code, edits) {
  const parts = [];
  let done = 0;
  for (const { start, end, text } of edits.sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (start < done) throw new SourceError('a decorator cannot contain another one', code, start, true);
    parts.push(code.slice(done, start), text);
    done = end;
  }
  parts.push(code.slice(done));
  return parts.join('');
}

/** The line ends of a text that is removed, so that the lines after it keep their numbers. */
export const lineEnds = (text) => text.replace(/[^\n]/g, '');
