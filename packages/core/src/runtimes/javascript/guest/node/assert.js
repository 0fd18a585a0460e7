/** The module `assert`. */
import { inspect } from '../inspect.js';
import { AssertionError } from './internal/assertion-error.js';
import { callText } from './internal/call-text.js';
import { isDeepEqual, isDeepStrictEqual } from './internal/deep-equal.js';
import { codedError, invalidArgType, validateFunction } from './internal/errors.js';

function fail(details) {
  if (details.message instanceof Error) throw details.message;
  throw new AssertionError(details);
}

function checkCount(args) {
  if (args.length < 2)
    throw codedError(
      TypeError,
      'ERR_MISSING_ARGS',
      'The "actual" and "expected" arguments must be specified',
    );
}

function okWith(self, args) {
  const [value, message] = args;
  if (value) return;
  let text = message;
  let isGenerated = false;
  if (args.length === 0) {
    isGenerated = true;
    text = 'No value argument passed to `assert.ok()`';
  } else if (message === undefined || message === null) {
    isGenerated = true;
    text = callText() ?? 'The expression evaluated to a falsy value';
  } else if (message instanceof Error) throw message;
  const error = new AssertionError({
    actual: value,
    expected: true,
    message: text,
    operator: '==',
    stackStartFn: self,
  });
  error.generatedMessage = isGenerated;
  throw error;
}

export default function assert(...args) {
  okWith(assert, args);
}

/** Defines an assertion that compares two values. */
function comparison(operator, test) {
  const check = {
    [operator](...args) {
      checkCount(args);
      const [actual, expected, message] = args;
      if (!test(actual, expected))
        fail({ actual, expected, message, operator: SYMBOLS[operator] ?? operator, stackStartFn: check });
    },
  }[operator];
  return check;
}
const SYMBOLS = { equal: '==', notEqual: '!=' };
// biome-ignore lint/suspicious/noDoubleEquals: assert.equal compares loosely.
const looselyEqual = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));

/** Compares the properties of an error with those of an object. */
function compareProperties(actual, expected, message, name) {
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  else if (keys.length === 0)
    throw codedError(
      TypeError,
      'ERR_INVALID_ARG_VALUE',
      "The argument 'error' may not be an empty object. Received {}",
    );
  for (const key of keys) {
    if (typeof actual[key] === 'string' && expected[key] instanceof RegExp && expected[key].test(actual[key]))
      continue;
    if (key in actual && isDeepStrictEqual(actual[key], expected[key])) continue;
    if (message !== undefined && message !== null) fail({ actual, expected, message, operator: name });
    const pick = (source, isActual) => {
      const copy = new (class Comparison {})();
      for (const one of keys) {
        if (!(one in source)) continue;
        const isMatch =
          isActual &&
          typeof actual[one] === 'string' &&
          expected[one] instanceof RegExp &&
          expected[one].test(actual[one]);
        copy[one] = isMatch ? expected[one] : source[one];
      }
      return copy;
    };
    const error = new AssertionError({
      actual: pick(actual, true),
      expected: pick(expected, false),
      operator: 'deepStrictEqual',
    });
    throw Object.assign(error, { actual, expected, operator: name });
  }
}

/** Checks a thrown value against a regular expression, a class, an object or a function. */
function checkException(actual, expected, message, name) {
  const given = message !== undefined && message !== null;
  const failed = (text) => {
    const error = new AssertionError({ actual, expected, message: given ? message : text, operator: name });
    error.generatedMessage = !given;
    if (message instanceof Error) throw message;
    throw error;
  };
  if (typeof expected !== 'function') {
    if (expected instanceof RegExp) {
      const text = String(actual);
      if (expected.test(text)) return;
      failed(
        `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`,
      );
    }
    if (typeof actual !== 'object' || actual === null) {
      const error = new AssertionError({
        actual,
        expected,
        message: given ? message : undefined,
        operator: 'deepStrictEqual',
      });
      error.operator = name;
      throw error;
    }
    compareProperties(actual, expected, message, name);
    return;
  }
  if (expected.prototype !== undefined && actual instanceof expected) return;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) {
    const isError = actual instanceof Error;
    failed(
      `The error is expected to be an instance of "${expected.name}". Received ${isError ? `"${actual.constructor?.name ?? actual.name}"` : `"${inspect(actual, { depth: -1 })}"`}${isError ? `\n\nError message:\n\n${actual.message}` : ''}`,
    );
  }
  const result = expected.call({}, actual);
  if (result === true) return;
  const label = expected.name ? `"${expected.name}" ` : '';
  failed(
    `The ${label}validation function is expected to return "true". Received ${inspect(result)}${actual instanceof Error ? `\n\nCaught error:\n\n${actual}` : ''}`,
  );
}

const NOTHING = Symbol('nothing was thrown');

function thrownBy(action) {
  validateFunction(action, 'fn');
  try {
    action();
  } catch (error) {
    return error;
  }
  return NOTHING;
}

async function rejectionOf(action) {
  let promise = action;
  if (typeof action === 'function') {
    promise = action();
    if (typeof promise?.then !== 'function')
      throw codedError(
        TypeError,
        'ERR_INVALID_RETURN_VALUE',
        `Expected instance of Promise to be returned from the "promiseFn" function but got ${promise === undefined ? 'undefined' : `type ${typeof promise}`}.`,
      );
  } else if (typeof action?.then !== 'function')
    throw invalidArgType('promiseFn', ['function', 'Promise'], action);
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return NOTHING;
}

function expectFailure(self, noun, actual, expectedValue, messageValue) {
  let [expected, message] = [expectedValue, messageValue];
  if (typeof expected === 'string') {
    if (actual !== NOTHING && (actual === expected || actual?.message === expected)) {
      throw codedError(
        TypeError,
        'ERR_AMBIGUOUS_ARGUMENT',
        `The "error/message" argument is ambiguous. The error${actual === expected ? '' : ' message'} "${expected}" is identical to the message.`,
      );
    }
    [expected, message] = [undefined, expected];
  }
  if (actual === NOTHING) {
    const details = `${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`;
    fail({
      actual: undefined,
      expected,
      operator: self.name,
      message: `Missing expected ${noun}${details}`,
      stackStartFn: self,
    });
  }
  if (expected !== undefined) checkException(actual, expected, message, self.name);
}

function expectNoFailure(self, actual, expectedValue, messageValue) {
  if (actual === NOTHING) return;
  let [expected, message] = [expectedValue, messageValue];
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (
    expected !== undefined &&
    !(expected instanceof RegExp ? expected.test(String(actual)) : actual instanceof expected)
  )
    throw actual;
  const details = message ? `: ${message}` : '.';
  const noun = self.name === 'doesNotReject' ? 'rejection' : 'exception';
  fail({
    actual,
    expected,
    operator: self.name,
    message: `Got unwanted ${noun}${details}\nActual message: "${actual?.message}"`,
    stackStartFn: self,
  });
}

function matching(name, isWanted) {
  return {
    [name](string, regexp, message) {
      if (!(regexp instanceof RegExp)) throw invalidArgType('regexp', 'RegExp', regexp);
      if (typeof string === 'string' && regexp.test(string) === isWanted) return;
      const text =
        typeof string !== 'string'
          ? invalidArgType('string', 'string', string).message
          : `The input ${isWanted ? 'did not match' : 'was expected to not match'} the regular expression ${inspect(regexp)}. Input:\n\n${inspect(string)}\n`;
      const isGiven = message !== undefined && message !== null;
      if (message instanceof Error) throw message;
      const error = new AssertionError({
        actual: string,
        expected: regexp,
        message: isGiven ? message : text,
        operator: name,
      });
      error.generatedMessage = !isGiven;
      throw error;
    },
  }[name];
}

const methods = {
  fail(message) {
    if (message instanceof Error) throw message;
    const error = new AssertionError({
      message: message ?? 'Failed',
      operator: 'fail',
      stackStartFn: methods.fail,
    });
    error.generatedMessage = message === undefined;
    throw error;
  },
  AssertionError,
  ok(...args) {
    okWith(methods.ok, args);
  },
  equal: comparison('equal', looselyEqual),
  notEqual: comparison('notEqual', (a, b) => !looselyEqual(a, b)),
  deepEqual: comparison('deepEqual', isDeepEqual),
  notDeepEqual: comparison('notDeepEqual', (a, b) => !isDeepEqual(a, b)),
  deepStrictEqual: comparison('deepStrictEqual', isDeepStrictEqual),
  notDeepStrictEqual: comparison('notDeepStrictEqual', (a, b) => !isDeepStrictEqual(a, b)),
  strictEqual: comparison('strictEqual', Object.is),
  notStrictEqual: comparison('notStrictEqual', (a, b) => !Object.is(a, b)),
  throws(action, expected, message) {
    expectFailure(methods.throws, 'exception', thrownBy(action), expected, message);
  },
  async rejects(action, expected, message) {
    expectFailure(methods.rejects, 'rejection', await rejectionOf(action), expected, message);
  },
  doesNotThrow(action, expected, message) {
    expectNoFailure(methods.doesNotThrow, thrownBy(action), expected, message);
  },
  async doesNotReject(action, expected, message) {
    expectNoFailure(methods.doesNotReject, await rejectionOf(action), expected, message);
  },
  ifError(error) {
    if (error === null || error === undefined) return;
    const text =
      typeof error === 'object' && typeof error.message === 'string'
        ? error.message || error.constructor?.name
        : inspect(error);
    const failure = new AssertionError({
      actual: error,
      expected: null,
      operator: 'ifError',
      message: `ifError got unwanted exception: ${text}`,
      stackStartFn: methods.ifError,
    });
    throw failure;
  },
  match: matching('match', true),
  doesNotMatch: matching('doesNotMatch', false),
};
Object.assign(assert, methods);

function strict(...args) {
  okWith(strict, args);
}
Object.assign(strict, methods, {
  equal: methods.strictEqual,
  deepEqual: methods.deepStrictEqual,
  notEqual: methods.notStrictEqual,
  notDeepEqual: methods.notDeepStrictEqual,
  strict,
});
assert.strict = strict;
