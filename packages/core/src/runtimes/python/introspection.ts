/** Programs that complete and describe names of a session. A JSON string is also a Python literal. */
import { MAX_COMPLETIONS } from '../language.ts';

export const completionProgram = (object: string, prefix: string) => `
def names(expression, prefix):
    if expression:
        found = dir(eval(expression, globals()))
    else:
        found = [*globals(), *dir(__import__('builtins')), *__import__('keyword').kwlist]
    hidden = () if prefix.startswith('_') else ('_',)
    return sorted({name for name in found if name.startswith(prefix) and not name.startswith(hidden)})
names(${JSON.stringify(object)}, ${JSON.stringify(prefix)})[:${MAX_COMPLETIONS}]`;

export const descriptionProgram = (object: string) => `
def describe(expression):
    import inspect
    value = eval(expression, globals())
    lines = ['Type: ' + type(value).__name__]
    try:
        lines.append('Signature: ' + expression + str(inspect.signature(value)))
    except (TypeError, ValueError):
        lines.append('Value: ' + repr(value)[:400])
    documentation = inspect.getdoc(value)
    if documentation:
        lines.append(documentation[:4000])
    return '\\n'.join(lines)
describe(${JSON.stringify(object)})`;
