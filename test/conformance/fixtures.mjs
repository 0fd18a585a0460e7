/**
 * The tools, resources and prompts that the official conformance suite calls by fixed names. They are registered in
 * addition to the tools of the server, on the same HTTP stack, and are not part of the package.
 */
import { randomBytes } from 'node:crypto';
import {
  acceptedContent,
  completable,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const NO_ARGUMENTS = z.object({});
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const states = createRequestStateCodec({ key: randomBytes(32) });

const form = (message, field, type = 'string') =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type } }, required: [field] },
  });
const question = (prompt, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens,
  });

/** SDK options that the fixtures need. A request state that was tampered with never reaches a handler. */
export const FIXTURE_OPTIONS = {
  capabilities: { logging: {}, resources: { subscribe: true, listChanged: false } },
  requestState: { verify: states.verify },
};

const stateOf = (ctx) => ctx.mcpReq.requestState();

async function requireInput(inputRequests, state, ctx) {
  return inputRequired({ inputRequests, requestState: await states.mint(state, ctx) });
}

const clientCapabilities = (ctx) => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};

/** Rows: name, arguments, handler. */
const TOOLS = [
  ['test_simple_text', NO_ARGUMENTS, () => text('This is a simple text response for testing.')],
  ['test_image_content', NO_ARGUMENTS, () => ({ content: [image] })],
  [
    'test_audio_content',
    NO_ARGUMENTS,
    () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  ],
  [
    'test_embedded_resource',
    NO_ARGUMENTS,
    () => ({
      content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  ],
  [
    'test_multiple_content_types',
    NO_ARGUMENTS,
    () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  ],
  [
    'test_error_handling',
    NO_ARGUMENTS,
    () => {
      throw new Error('This tool intentionally returns an error for testing');
    },
  ],
  ['test_tool_with_logging', NO_ARGUMENTS, logging],
  ['test_logging_tool', NO_ARGUMENTS, logging],
  ['test_tool_with_progress', NO_ARGUMENTS, progressing],
  ['test_sampling', z.object({ prompt: z.string() }), sampling],
  ['test_elicitation', z.object({ message: z.string() }), eliciting],
  ['test_elicitation_sep1034_defaults', NO_ARGUMENTS, (_, ctx) => elicitDefaults(ctx)],
  ['test_elicitation_sep1330_enums', NO_ARGUMENTS, (_, ctx) => elicitEnums(ctx)],
  ['test_missing_capability', NO_ARGUMENTS, needsSampling],
  ['test_streaming_elicitation', NO_ARGUMENTS, streamingElicitation],
  ['test_input_required_result_elicitation', NO_ARGUMENTS, (_, ctx) => greet(ctx)],
  ['test_input_required_result_sampling', NO_ARGUMENTS, (_, ctx) => askCapital(ctx)],
  ['test_input_required_result_list_roots', NO_ARGUMENTS, (_, ctx) => askRoots(ctx)],
  ['test_input_required_result_request_state', NO_ARGUMENTS, (_, ctx) => confirmWithState(ctx)],
  ['test_input_required_result_tampered_state', NO_ARGUMENTS, (_, ctx) => confirmWithState(ctx)],
  ['test_input_required_result_multiple_inputs', NO_ARGUMENTS, (_, ctx) => askAll(ctx)],
  ['test_input_required_result_multi_round', NO_ARGUMENTS, (_, ctx) => twoRounds(ctx)],
  ['test_input_required_result_capabilities', NO_ARGUMENTS, (_, ctx) => askSupported(ctx)],
];

async function logging(_, ctx) {
  for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await ctx.mcpReq.log('info', message);
    await pause(50);
  }
  return text('Tool with logging executed successfully');
}

async function progressing(_, ctx) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    const params = { progressToken, progress, total: 100 };
    if (progressToken !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress', params });
    await pause(50);
  }
  return text(`Progress reported for ${progressToken}`);
}

async function sampling({ prompt }, ctx) {
  const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
  const { content } = await ctx.mcpReq.requestSampling({ messages, maxTokens: 100 });
  const [part] = Array.isArray(content) ? content : [content];
  return text(`LLM response: ${part?.text ?? ''}`);
}

async function eliciting({ message }, ctx) {
  const field = (description) => ({ type: 'string', description });
  const properties = { username: field("User's response"), email: field("User's email address") };
  const requestedSchema = { type: 'object', properties, required: ['username', 'email'] };
  const { action, content } = await ctx.mcpReq.elicitInput({ message, requestedSchema });
  return text(`User response: action: ${action}, content: ${JSON.stringify(content ?? {})}`);
}

async function elicit(ctx, message, properties) {
  const { action, content } = await ctx.mcpReq.elicitInput({
    message,
    requestedSchema: { type: 'object', properties },
  });
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

const elicitDefaults = (ctx) =>
  elicit(ctx, 'Please review these values', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  });

const choices = (kind) =>
  ['First', 'Second', 'Third'].map((title, i) => ({ const: `value${i + 1}`, title: `${title} ${kind}` }));
const OPTIONS = ['option1', 'option2', 'option3'];

const elicitEnums = (ctx) =>
  elicit(ctx, 'Please choose', {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: choices('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: choices('Choice') } },
  });

function needsSampling(_, ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'greeting');
  if (answer.kind === 'sampling') return text('The client can sample.');
  // The SDK rejects requests for capabilities that the client did not declare.
  return inputRequired({ inputRequests: { greeting: question('Generate a greeting', 50) } });
}

async function streamingElicitation(_, ctx) {
  const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_name');
  return answer === undefined
    ? inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } })
    : text(`Hello, ${answer.name}!`);
}

function greet(ctx) {
  const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_name');
  return typeof answer?.name === 'string'
    ? text(`Hello, ${answer.name}!`)
    : inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } });
}

function askCapital(ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'capital_question');
  if (answer.kind !== 'sampling')
    return inputRequired({
      inputRequests: { capital_question: question('What is the capital of France?', 100) },
    });
  const [part] = [answer.result.content].flat();
  return text(`The model says: ${part?.text ?? ''}`);
}

function askRoots(ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'client_roots');
  return answer.kind === 'roots'
    ? text(`Roots: ${answer.roots.map(({ uri }) => uri).join(', ')}`)
    : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
}

async function confirmWithState(ctx) {
  const state = stateOf(ctx);
  const answer = acceptedContent(ctx.mcpReq.inputResponses, 'confirm');
  if (state === undefined || answer === undefined)
    return requireInput({ confirm: form('Please confirm', 'ok', 'boolean') }, { step: 'confirm' }, ctx);
  return text('state-ok');
}

async function askAll(ctx) {
  const responses = ctx.mcpReq.inputResponses;
  const name = acceptedContent(responses, 'user_name');
  const greeting = inputResponse(responses, 'greeting');
  const roots = inputResponse(responses, 'client_roots');
  const state = stateOf(ctx);
  if (state !== undefined && name && greeting.kind === 'sampling' && roots.kind === 'roots')
    return text(`${[greeting.result.content].flat()[0]?.text} ${name.name}, ${roots.roots.length} roots`);
  const requests = {
    user_name: form('What is your name?', 'name'),
    greeting: question('Generate a greeting', 50),
    client_roots: inputRequired.listRoots(),
  };
  return requireInput(requests, { step: 'all' }, ctx);
}

async function twoRounds(ctx) {
  const state = stateOf(ctx);
  const responses = ctx.mcpReq.inputResponses;
  const [name, color] = [acceptedContent(responses, 'step1'), acceptedContent(responses, 'step2')];
  if (state?.name !== undefined && color) return text(`${state.name} likes ${color.color}`);
  if (state !== undefined && name)
    return requireInput(
      { step2: form('Step 2: What is your favorite color?', 'color') },
      { name: name.name },
      ctx,
    );
  return requireInput({ step1: form('Step 1: What is your name?', 'name') }, { step: 1 }, ctx);
}

function askSupported(ctx) {
  const { sampling: samples, elicitation } = clientCapabilities(ctx);
  if (ctx.mcpReq.inputResponses !== undefined) return text('Thank you.');
  const inputRequests = {
    ...(samples && { greeting: question('Generate a greeting', 50) }),
    ...(elicitation && { user_name: form('What is your name?', 'name') }),
  };
  return Object.keys(inputRequests).length > 0
    ? inputRequired({ inputRequests })
    : text('No supported input.');
}

function registerResources(server) {
  const plain = { description: 'A resource for the conformance suite' };
  server.registerResource('static-text', 'test://static-text', { ...plain, mimeType: 'text/plain' }, () => ({
    contents: [
      {
        uri: 'test://static-text',
        mimeType: 'text/plain',
        text: 'This is the content of the static text resource.',
      },
    ],
  }));
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { ...plain, mimeType: 'image/png' },
    () => ({
      contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: PNG }],
    }),
  );
  server.registerResource('watched', 'test://watched-resource', plain, () => ({
    contents: [{ uri: 'test://watched-resource', mimeType: 'text/plain', text: 'watched' }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, plain, (uri, { id }) => ({
    contents: [
      {
        uri: uri.href,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    ],
  }));
}

function registerPrompts(server) {
  const user = (content) => ({ role: 'user', content });
  const say = (value) => user({ type: 'text', text: value });
  const about = (description, argsSchema) => ({ description, ...(argsSchema && { argsSchema }) });
  server.registerPrompt('test_simple_prompt', about('A simple prompt'), () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  const completed = z.object({
    arg1: completable(z.string(), (value) =>
      ['paris', 'park', 'party'].filter((one) => one.startsWith(value)),
    ),
    arg2: z.string(),
  });
  server.registerPrompt(
    'test_prompt_with_arguments',
    about('A prompt with arguments', completed),
    (args) => ({
      messages: [say(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`)],
    }),
  );
  const withUri = z.object({ resourceUri: z.string() });
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    about('Embeds a resource', withUri),
    (args) => ({
      messages: [
        user(embedded(args.resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        say('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', about('Has an image'), () => ({
    messages: [user(image), say('Please analyze the image above.')],
  }));
  server.registerPrompt('test_input_required_result_prompt', about('Asks first'), (ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_context');
    if (answer === undefined)
      return inputRequired({
        inputRequests: { user_context: form('What context should the prompt use?', 'context') },
      });
    return { messages: [say(`Use this context: ${answer.context}`)] };
  });
}

/** Registers the fixtures on a server object. */
export function addFixtures(server) {
  for (const [name, inputSchema, handler] of TOOLS) {
    server.registerTool(name, { description: `Conformance fixture ${name}`, inputSchema }, handler);
  }
  registerResources(server);
  registerPrompts(server);
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    server.server.setRequestHandler(method, () => ({}));
  }
  return server;
}
