/** How workers read the source of JavaScript programs. */
import { MAX_VARIABLES, type SourceReader } from '../language.ts';
import { declaredNames } from './syntax/module-to-script.ts';
import { NOT_CALLABLE, readJavaScript } from './syntax/program-facts.ts';

export const javascriptSource: SourceReader = {
  // Programs cannot list the `let`, `const` and `class` bindings of their own scope.
  declaredNames: (code) => declaredNames(code, MAX_VARIABLES),
  examine: (code, { language, isStopped, error }) => {
    const isCallFailed = error !== undefined && NOT_CALLABLE.test(error.message);
    return isStopped || isCallFailed ? readJavaScript(code, language, error) : undefined;
  },
};
