/** A chat model of LangChain.js that runs the programs in turn and answers with the tool results that it received. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { PROGRAMS } from './programs.mjs';

class ProgramModel extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType() {
    return 'programs';
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const results = messages.filter((message) => message.getType() === 'tool').map(({ content }) => content);
    const code = PROGRAMS[results.length];
    const calls = [{ type: 'tool_call', name: 'execute_code', args: { code }, id: `call-${results.length}` }];
    const message =
      code === undefined
        ? new AIMessage(JSON.stringify({ results }))
        : new AIMessage({ content: '', tool_calls: calls });
    return { generations: [{ text: String(message.content), message }] };
  }
}

export const model = new ProgramModel();
