/** A model that calls the tool `shell` and answers with the output that it received. */
import { setTracingDisabled } from '@openai/agents';
import { assistantMessage, modelResponder, ScriptedModel } from '@openai/agents/testing';

setTracingDisabled(true);

const action = { commands: ['echo "print(6 * 7)" > answer.py', 'python3 answer.py'] };

export const model = new ScriptedModel([
  [{ type: 'shell_call', callId: 'call-1', status: 'completed', action }],
  modelResponder(({ request: { input } }) => {
    const { output } = input.find(({ type }) => type === 'shell_call_output');
    return [assistantMessage(output.map(({ stdout, outcome }) => `${stdout}${outcome.exitCode}`).join(' '))];
  }),
]);
