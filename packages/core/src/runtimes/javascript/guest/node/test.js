/**
 * The module `node:test`. Tests run one after the other, in the order of their declaration, after the code that declares
 * them. The report is printed to standard output, and a failed test sets the exit code to 1.
 */
import { host } from '../host-calls.js';
import { interpreterClock } from '../timers.js';
import assert from './assert.js';
import { codedError, invalidArgType, unavailable } from './internal/errors.js';
import { MockTracker } from './internal/test-mock.js';
import { locationOf, reportSummary, reportTest } from './internal/test-report.js';
import process from './process.js';

const isFailed = ({ failure, todo }) => failure !== undefined && todo === false;

class Failure {
  constructor(type, error) {
    this.type = type;
    this.error = error;
  }
}

/** A plan counts assertions, which are not counted here. */
function refusePlan() {
  throw unavailable(
    'test.plan is not available in the sandbox. Compare a count of your own at the end of the test.',
  );
}

const testError = (message) => codedError(Error, 'ERR_TEST_FAILURE', message);

/** Calls a function of the program. A function with `parameters` parameters gets a callback as the last argument. */
function callWithCallback(callback, self, args, parameters) {
  if (callback.length < parameters) return Reflect.apply(callback, self, args);
  return new Promise((resolve, reject) => {
    const done = (error) => (error === undefined || error === null ? resolve() : reject(error));
    const result = Reflect.apply(callback, self, [...args, done]);
    if (result instanceof Promise) reject(testError('passed a callback but also returned a Promise'));
  });
}

class Test {
  skip = false;
  todo = false;
  failure = undefined;
  duration = 0;
  subtests = [];
  diagnostics = [];
  hooks = { before: [], after: [], beforeEach: [], afterEach: [] };
  mock = undefined;
  #queue = Promise.resolve();
  #controller = new AbortController();
  #hasRunBefore = false;

  constructor(parent, name, callback, options, isSuite, location) {
    this.parent = parent;
    this.callback = callback;
    this.isSuite = isSuite;
    this.location = location;
    if (options.plan !== undefined) refusePlan();
    this.timeout = options.timeout ?? Infinity;
    this.name = typeof name === 'string' && name !== '' ? name : callback?.name || '<anonymous>';
    if (options.skip !== undefined && options.skip !== false) this.skip = options.skip;
    else if (options.todo !== undefined && options.todo !== false) this.todo = options.todo;
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  get fullName() {
    return this.parent?.parent === undefined ? this.name : `${this.parent.fullName} > ${this.name}`;
  }

  get signal() {
    return this.#controller.signal;
  }

  /** Adds a subtest, which runs when the earlier ones have ended. */
  add(subtest) {
    this.subtests.push(subtest);
    this.#queue = this.#queue.then(() => subtest.run());
    return subtest.finished;
  }

  async runHooks(kind, subject) {
    for (const { callback } of this.hooks[kind]) {
      try {
        await callWithCallback(callback, subject, [new TestContext(subject)], 2);
      } catch (error) {
        throw new Failure('hookFailed', error);
      }
    }
  }

  async runBeforeOnce() {
    if (this.#hasRunBefore) return;
    this.#hasRunBefore = true;
    await this.runHooks('before', this);
  }

  /** Runs the hooks of this test and its parents for a test: from the outermost, or to it. */
  async runEachHooks(kind, subject) {
    if (kind === 'beforeEach') {
      await this.parent?.runEachHooks(kind, subject);
      await this.runBeforeOnce();
    }
    await this.runHooks(kind, subject);
    if (kind === 'afterEach') await this.parent?.runEachHooks(kind, subject);
  }

  async runCallback() {
    let timer;
    const limit = new Promise((_, reject) => {
      if (this.timeout === Infinity) return;
      timer = setTimeout(
        () => reject(new Failure('testTimeoutFailure', testError(`test timed out after ${this.timeout}ms`))),
        this.timeout,
      );
    });
    try {
      const context = new TestContext(this);
      await Promise.race([limit, callWithCallback(this.callback, context, [context], 2)]);
    } finally {
      clearTimeout(timer);
    }
  }

  async runBody() {
    if (this.isSuite) {
      await this.suiteBody;
      if (this.subtests.length > 0) await this.runBeforeOnce();
    } else {
      await this.parent.runEachHooks('beforeEach', this);
      if (this.callback !== undefined) await this.runCallback();
    }
    await this.#queue;
    const failed = this.subtests.filter(isFailed).length;
    if (failed > 0)
      throw new Failure('subtestsFailed', testError(`${failed} subtest${failed > 1 ? 's' : ''} failed`));
  }

  fail(cause) {
    this.failure ??= cause instanceof Failure ? cause : new Failure('testCodeFailure', cause);
  }

  async run() {
    const start = interpreterClock.now();
    if (this.skip === false) {
      await this.runBody().catch((error) => this.fail(error));
      const isRun = !this.isSuite;
      await (isRun ? this.parent.runEachHooks('afterEach', this) : undefined)?.catch((error) =>
        this.fail(error),
      );
      await this.runHooks('after', this).catch((error) => this.fail(error));
    }
    this.end(interpreterClock.now() - start);
  }

  end(duration) {
    this.duration = Math.round(duration * 1e6) / 1e6;
    this.mock?.reset();
    this.#controller.abort();
    this.finish();
    if (this.parent === root) printTest(this);
  }
}

/** The object that the function of a test receives. */
let hooksOf;
class TestContext {
  #test;
  static {
    hooksOf = (context) => context.#test.hooks;
  }

  constructor(test) {
    this.#test = test;
  }
  get name() {
    return this.#test.name;
  }
  get fullName() {
    return this.#test.fullName;
  }
  get signal() {
    return this.#test.signal;
  }
  get error() {
    return this.#test.failure?.error ?? null;
  }
  get passed() {
    return this.#test.failure === undefined;
  }
  get mock() {
    this.#test.mock ??= new MockTracker();
    return this.#test.mock;
  }
  get assert() {
    return assert.strict;
  }
  plan() {
    refusePlan();
  }
  diagnostic(message) {
    this.#test.diagnostics.push(`${message}`);
  }
  skip(message = true) {
    this.#test.skip = message;
  }
  todo(message = true) {
    this.#test.todo = message;
  }
  runOnly() {}
  test(...args) {
    return declare(this.#test, args, false);
  }
}
for (const kind of ['before', 'after', 'beforeEach', 'afterEach'])
  TestContext.prototype[kind] = function (callback) {
    hooksOf(this)[kind].push({ callback });
  };

let root;
/** The suite whose function is running. */
let currentSuite;
let startTime = 0;
let printed = 0;

/** Starts the report with the first declaration of a program. */
function rootOfProgram() {
  if (root !== undefined) return root;
  root = new Test(undefined, '<root>', undefined, {}, true, undefined);
  startTime = interpreterClock.now();
  printed = 0;
  process.once('beforeExit', finish);
  process.once('exit', reportUnfinished);
  return root;
}

function printTest(test) {
  if (printed === 0) host.writeText(1, 'TAP version 13\n');
  printed++;
  host.writeText(1, reportTest(test, printed));
}

async function finish() {
  const ended = root;
  await ended.runHooks('after', ended).catch((error) => ended.fail(error));
  reportUnfinished();
}

function summarize() {
  const { subtests, diagnostics, failure } = root;
  if (printed === 0) host.writeText(1, 'TAP version 13\n');
  const duration = Math.round((interpreterClock.now() - startTime) * 1e6) / 1e6;
  host.writeText(1, reportSummary(subtests, diagnostics, duration));
  if (failure !== undefined || subtests.some(isFailed)) process.exitCode = 1;
  root = undefined;
}

/** Reports tests that wait for something that never happens. */
function cancel(test) {
  for (const subtest of test.subtests) cancel(subtest);
  if (test === root) return;
  test.failure ??= new Failure(
    'cancelledByParent',
    testError('Promise resolution is still pending but the event loop has already resolved'),
  );
}

function reportUnfinished() {
  if (root === undefined) return;
  for (const test of root.subtests.slice(printed)) {
    cancel(test);
    printTest(test);
  }
  summarize();
}

function parseArguments(args) {
  const rest = [...args];
  const name = typeof rest[0] === 'string' ? rest.shift() : undefined;
  const options = typeof rest[0] === 'object' && rest[0] !== null ? rest.shift() : {};
  const callback = rest.shift();
  if (callback !== undefined && typeof callback !== 'function')
    throw invalidArgType('fn', 'function', callback);
  return { name, options, callback };
}

function declare(parent, args, isSuite, overrides = {}) {
  const { name, options, callback } = parseArguments(args);
  const location = locationOf(new Error().stack);
  const test = new Test(parent, name, callback, { ...options, ...overrides }, isSuite, location);
  if (isSuite && callback !== undefined && test.skip === false) runSuite(test);
  return parent.isSuite && parent !== root ? addLater(parent, test) : parent.add(test);
}

/** The tests of a suite run when it is its turn. */
function addLater(suite, test) {
  suite.subtests.push(test);
  return test.finished;
}

function runSuite(suite) {
  const outer = currentSuite;
  currentSuite = suite;
  suite.runBody = async () => {
    await suite.suiteBody;
    const tests = suite.subtests;
    if (tests.length > 0) await suite.runBeforeOnce();
    for (const test of tests) await test.run();
    const failed = tests.filter(isFailed).length;
    if (failed > 0)
      throw new Failure('subtestsFailed', testError(`${failed} subtest${failed > 1 ? 's' : ''} failed`));
  };
  try {
    suite.suiteBody = Promise.resolve(suite.callback(new TestContext(suite)));
    suite.suiteBody.catch(() => {});
  } catch (error) {
    suite.fail(error);
  } finally {
    currentSuite = outer;
  }
}

const declarer = (isSuite, overrides) =>
  function declared(...args) {
    return declare(currentSuite ?? rootOfProgram(), args, isSuite, overrides);
  };

function variants(isSuite) {
  return Object.assign(declarer(isSuite), {
    skip: declarer(isSuite, { skip: true }),
    todo: declarer(isSuite, { todo: true }),
    only: declarer(isSuite),
  });
}

const hook = (kind) => (callback) => {
  (currentSuite ?? rootOfProgram()).hooks[kind].push({ callback });
};

export const test = variants(false);
Object.defineProperty(test, 'name', { value: 'test' });
export const it = variants(false);
export const describe = variants(true);
export const suite = describe;
export const before = hook('before');
export const after = hook('after');
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');
export const mock = new MockTracker();
export const { skip, todo, only } = test;

export function run() {
  throw unavailable(
    'test.run is not available in the sandbox. Import the test files; their tests run and are reported.',
  );
}

export default Object.assign(test, {
  after,
  afterEach,
  before,
  beforeEach,
  describe,
  it,
  mock,
  run,
  suite,
  test,
});
