/**
 * The kernels of all tenants. A kernel is a session with a record, which names its language and the document it belongs to.
 * What only this process knows, such as clients and the running cell, is in `JupyterKernel`.
 */
import { randomUUID } from 'node:crypto';
import { DEFAULT_RUNTIME, SandboxError, type Session } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError, quoted } from '../server/http-error.ts';
import { Records } from '../server/records.ts';
import type { RestRequest } from '../server/rest-call.ts';
import type { Tenant } from '../server/tenant.ts';
import { JupyterKernel } from './kernel.ts';
import { kernelLanguage } from './kernel-specs.ts';

/** The session that has the files of a tenant. */
const FILES_SESSION = 'jupyter';
const PREFIX = 'jupyter-';
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_RECORD_BYTES = 65_536;

const text = z.string().max(4096);
const kernelRecord = z.object({
  name: z.string(),
  /** The document of the kernel, which Jupyter calls a session. */
  document: z.object({ id: z.string(), path: text, name: text, type: text }).optional(),
});
export type KernelRecord = z.infer<typeof kernelRecord>;
const RECORDS = new Records(kernelRecord, MAX_RECORD_BYTES, PREFIX);

const notFound = (id: string) => new HttpError(404, `There is no kernel ${quoted(id)}`);

interface KernelsOptions {
  readonly version: string;
  readonly onError: (cause: unknown) => void;
}

/** A request to the interface of Jupyter Server, as the handlers receive it. */
export interface JupyterCall extends RestRequest {
  readonly kernels: Kernels;
  /** The parts of the path that match the `:` segments of the route. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
}

export class Kernels {
  readonly #open = new Map<string, JupyterKernel>();

  constructor(readonly options: KernelsOptions) {}

  /** The record of a kernel. Throws 404. */
  async record(tenant: Tenant, id: string): Promise<KernelRecord> {
    const record = ID.test(id) ? await RECORDS.read(tenant.sandboxRecords, id) : undefined;
    if (record === undefined) throw notFound(id);
    return record;
  }

  async write(tenant: Tenant, id: string, record: KernelRecord): Promise<void> {
    await RECORDS.write(tenant.sandboxRecords, id, record);
  }

  /** The kernel with its clients. Throws 404. */
  async get(tenant: Tenant, id: string): Promise<JupyterKernel> {
    const { name } = await this.record(tenant, id);
    const key = `${tenant.id}/${id}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const kernel = new JupyterKernel({
      tenant,
      session_id: PREFIX + id,
      language: kernelLanguage(name),
      version: this.options.version,
      onError: this.options.onError,
      files: () => this.files(tenant),
      shutDown: () => this.shutDown(tenant, id),
    });
    this.#open.set(key, kernel);
    return kernel;
  }

  /**
   * The ids of the kernels that have a session. Forgets kernels without one: the session has expired, was deleted over another
   * interface, or ended while a request was waiting for its record.
   */
  async #ids(tenant: Tenant): Promise<string[]> {
    // The session of a kernel exists before the kernel is here.
    const known = [...this.#open].filter(([key]) => key.startsWith(`${tenant.id}/`));
    const sessions = (await tenant.sessions.list()).map(({ session_id }) => session_id);
    for (const [key, kernel] of known) {
      if (sessions.includes(kernel.parts.session_id)) continue;
      if (this.#open.get(key) === kernel) this.#open.delete(key);
      kernel.close();
    }
    return sessions
      .filter((session_id) => session_id.startsWith(PREFIX))
      .map((session_id) => session_id.slice(PREFIX.length))
      .filter((id) => ID.test(id));
  }

  async list(tenant: Tenant): Promise<(KernelRecord & { readonly id: string })[]> {
    const found: (KernelRecord & { readonly id: string })[] = [];
    for (const id of await this.#ids(tenant)) {
      const record = await this.record(tenant, id).catch(() => undefined);
      if (record !== undefined) found.push({ ...record, id });
    }
    return found;
  }

  async start(
    tenant: Tenant,
    name: string | null | undefined,
    document?: KernelRecord['document'],
  ): Promise<string> {
    const { runtime, notebook } = kernelLanguage(name);
    await this.#ids(tenant);
    const id = randomUUID();
    await tenant.create({ language: runtime, session_id: PREFIX + id, policy: {} });
    await this.write(tenant, id, { name: notebook.kernel, ...(document && { document }) });
    return id;
  }

  async shutDown(tenant: Tenant, id: string): Promise<void> {
    const kernel = await this.get(tenant, id);
    this.#open.delete(`${tenant.id}/${id}`);
    await tenant.sandboxRecords.delete(PREFIX + id);
    kernel.close();
    await tenant.destroy(PREFIX + id).catch((cause: unknown) => {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
    });
  }

  /** A kernel as the interface describes it. */
  async model(tenant: Tenant, id: string) {
    const { name } = await this.record(tenant, id);
    const kernel = await this.get(tenant, id);
    const { executionState, lastActivity, sockets } = kernel;
    return {
      id,
      name,
      execution_state: executionState,
      last_activity: lastActivity,
      connections: sockets.size,
    };
  }

  /** The session with the files of a tenant, which all of its kernels share. It is created on first use. */
  files(tenant: Tenant): Promise<Session> {
    return tenant.openOrCreate(FILES_SESSION, DEFAULT_RUNTIME);
  }

  /** Clients of all kernels of a tenant. */
  socketsOf(tenant: Tenant): number {
    let count = 0;
    for (const [key, { sockets }] of this.#open) if (key.startsWith(`${tenant.id}/`)) count += sockets.size;
    return count;
  }

  /** Called at intervals: ends connections that do not answer, and kernels whose session is gone. */
  ping(): void {
    const tenants = new Set<Tenant>();
    for (const { sockets, parts } of this.#open.values()) {
      tenants.add(parts.tenant);
      for (const socket of sockets) socket.ping();
    }
    for (const tenant of tenants) this.#ids(tenant).catch(this.options.onError);
  }

  close(): void {
    for (const kernel of this.#open.values()) kernel.close();
    this.#open.clear();
  }
}
