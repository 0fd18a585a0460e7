/** A model that runs two commands, patches a file and answers with the results that it received. */
import { setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';

setTracingDisabled(true);

const call = (n, name, args) => [functionCall(name, args, { callId: `call-${n}` })];

export const model = new ScriptedModel([
  call(1, 'exec_command', { cmd: 'cat notes/numbers.txt; echo "print(6 * 7)" > answer.py' }),
  call(2, 'exec_command', { cmd: 'python3 answer.py' }),
  modelResponder(({ request: { input } }) => {
    const results = input.filter(({ type }) => type === 'function_call_result');
    const texts = results.map(({ output }) => (output.text ?? output).split('Output:\n')[1]);
    return [assistantMessage(texts.join(''))];
  }),
]);
