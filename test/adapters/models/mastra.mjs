/** A model for Mastra, which accepts models of the AI SDK. */
import { languageModel } from './ai-sdk.mjs';

export const model = languageModel('v2');
