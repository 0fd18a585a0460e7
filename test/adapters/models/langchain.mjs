/** A chat model of LangChain.js that runs the programs in turn and answers with the tool results that it received. */
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { PROGRAMS } from './programs.mjs';

const builder = PROGRAMS.reduce(
  (built, code, i) => built.respondWithTools([{ name: 'execute_code', args: { code }, id: `call-${i}` }]),
  fakeModel(),
);
export const model = builder.respond((messages) => {
  const results = messages.filter((message) => message.getType() === 'tool').map(({ content }) => content);
  return new AIMessage(JSON.stringify({ results }));
});
