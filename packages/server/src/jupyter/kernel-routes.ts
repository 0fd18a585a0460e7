/** The routes for kernels, their languages, and the documents that they belong to, which Jupyter calls sessions. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { HttpError, quoted } from '../server/http-error.ts';
import { checkedBody, type Routes, respond } from '../server/rest-call.ts';
import { kernelSpecs } from './kernel-specs.ts';
import type { JupyterCall, KernelRecord } from './kernels.ts';

const text = z.string().max(4096);
const kernelName = z.string().max(100).nullish();
const kernelBody = z.object({ name: kernelName });
const chosenKernel = z.object({ name: kernelName, id: z.string().max(100).nullish() });
const documentBody = z.object({
  path: text,
  name: text.default(''),
  type: text.default('notebook'),
  kernel: chosenKernel.nullish(),
});
const changeBody = z.object({
  path: text.optional(),
  name: text.optional(),
  type: text.optional(),
  kernel: chosenKernel.nullish(),
});

type Document = NonNullable<KernelRecord['document']>;

async function documentModel({ kernels, tenant }: JupyterCall, document: Document, kernel_id: string) {
  const { path, name } = document;
  return { ...document, kernel: await kernels.model(tenant, kernel_id), notebook: { path, name } };
}

/** The document with an id, and its kernel. Throws 404. */
async function findDocument({ kernels, tenant }: JupyterCall, id: string) {
  for (const one of await kernels.list(tenant))
    if (one.document?.id === id) return { document: one.document, kernel_id: one.id };
  throw new HttpError(404, `There is no session ${quoted(id)}`);
}

/** The kernel that a client chooses for a document: an existing one, or a new one. */
async function chooseKernel(
  { kernels, tenant }: JupyterCall,
  chosen: z.output<typeof chosenKernel> | null | undefined,
  document: Document,
): Promise<string> {
  if (!chosen?.id) return kernels.start(tenant, chosen?.name, document);
  const record = await kernels.record(tenant, chosen.id);
  await kernels.write(tenant, chosen.id, { ...record, document });
  return chosen.id;
}

/** Creates a document, or returns that with the same path. */
async function createDocument(call: JupyterCall): Promise<void> {
  const { kernel, ...given } = await checkedBody(call, documentBody);
  const known = (await call.kernels.list(call.tenant)).find(({ document }) => document?.path === given.path);
  const document = known?.document ?? { id: randomUUID(), ...given };
  const kernel_id = known?.id ?? (await chooseKernel(call, kernel, document));
  await respond(call, 201, await documentModel(call, document, kernel_id));
}

/** Moves a document, or gives it another kernel; its own kernel then ends. */
async function changeDocument(call: JupyterCall): Promise<void> {
  const { kernels, tenant } = call;
  const found = await findDocument(call, call.params[0]!);
  const { kernel, ...changed } = await checkedBody(call, changeBody);
  const document: Document = { ...found.document, ...withoutUndefined(changed) };
  let { kernel_id } = found;
  const isOther = kernel?.id ? kernel.id !== kernel_id : Boolean(kernel?.name);
  if (isOther) {
    kernel_id = await chooseKernel(call, kernel, document);
    await kernels.shutDown(tenant, found.kernel_id);
  } else await kernels.write(tenant, kernel_id, { ...(await kernels.record(tenant, kernel_id)), document });
  await respond(call, 200, await documentModel(call, document, kernel_id));
}

const withoutUndefined = (fields: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const end = ({ response }: JupyterCall) => void response.writeHead(204).end();

export const KERNEL_ROUTES: Routes<JupyterCall> = {
  'GET kernelspecs': (call) => respond(call, 200, kernelSpecs()),
  'GET kernels': async (call) => {
    const { kernels, tenant } = call;
    const all = await kernels.list(tenant);
    await respond(call, 200, await Promise.all(all.map(({ id }) => kernels.model(tenant, id))));
  },
  'POST kernels': async (call) => {
    const { kernels, tenant } = call;
    const { name } = await checkedBody(call, kernelBody);
    const id = await kernels.start(tenant, name);
    await respond(call, 201, await kernels.model(tenant, id), { location: `/api/kernels/${id}` });
  },
  'GET kernels/:': async (call) => {
    const { kernels, tenant, params } = call;
    await respond(call, 200, await kernels.model(tenant, params[0]!));
  },
  'DELETE kernels/:': async (call) => {
    await call.kernels.shutDown(call.tenant, call.params[0]!);
    end(call);
  },
  'POST kernels/:/interrupt': async (call) => {
    (await call.kernels.get(call.tenant, call.params[0]!)).interrupt();
    end(call);
  },
  'POST kernels/:/restart': async (call) => {
    const { kernels, tenant, params } = call;
    await (await kernels.get(tenant, params[0]!)).restart();
    await respond(call, 200, await kernels.model(tenant, params[0]!));
  },
  'GET sessions': async (call) => {
    const all = await call.kernels.list(call.tenant);
    const models = all.flatMap(({ id, document }) => (document ? [documentModel(call, document, id)] : []));
    await respond(call, 200, await Promise.all(models));
  },
  'POST sessions': createDocument,
  'GET sessions/:': async (call) => {
    const { document, kernel_id } = await findDocument(call, call.params[0]!);
    await respond(call, 200, await documentModel(call, document, kernel_id));
  },
  'PATCH sessions/:': changeDocument,
  'DELETE sessions/:': async (call) => {
    const { kernel_id } = await findDocument(call, call.params[0]!);
    await call.kernels.shutDown(call.tenant, kernel_id);
    end(call);
  },
};
