/**
 * Reads with the inspector protocol what the threads of this process hold in memory. Garbage is collected first, so that
 * the figures depend neither on the load of the machine nor on when V8 frees memory.
 */
import { type NodeWorker, Session } from 'node:inspector/promises';

interface ThreadMemory {
  /** Memories of WebAssembly instances that can still be reached. */
  readonly wasmMemories: number;
  /** On the heap and in buffers. */
  readonly bytes: number;
}

type Post = (method: string, params?: object) => Promise<object>;

async function memoryOf(post: Post): Promise<ThreadMemory> {
  await post('HeapProfiler.collectGarbage');
  const evaluate = async (expression: string) => {
    const answer = (await post('Runtime.evaluate', { expression, returnByValue: true })) as {
      result: { value: number };
    };
    return answer.result.value;
  };
  const { result } = (await post('Runtime.evaluate', { expression: 'WebAssembly.Memory.prototype' })) as {
    result: { objectId: string };
  };
  const { objects } = (await post('Runtime.queryObjects', {
    prototypeObjectId: result.objectId,
    objectGroup: 'memories',
  })) as { objects: { description: string } };
  await post('Runtime.releaseObjectGroup', { objectGroup: 'memories' });
  const wasmMemories = Number(/^Array\((\d+)\)$/.exec(objects.description)![1]);
  const used = await evaluate('(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())');
  return { wasmMemories, bytes: used };
}

/** Inspects this thread and its worker threads. Worker threads that start later are included. */
export class ThreadMemoryReader {
  readonly #session = new Session();
  readonly #workers = new Set<string>();
  readonly #answers = new Map<number, (answer: object) => void>();
  #sent = 0;

  static async open(): Promise<ThreadMemoryReader> {
    const reader = new ThreadMemoryReader();
    const session = reader.#session;
    session.connect();
    session.on('NodeWorker.attachedToWorker', ({ params }) => reader.#workers.add(params.sessionId));
    session.on('NodeWorker.detachedFromWorker', ({ params }) => reader.#workers.delete(params.sessionId));
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => reader.#receive(params));
    await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    return reader;
  }

  ofThisThread(): Promise<ThreadMemory> {
    return memoryOf((method, params) => this.#session.post(method as 'Runtime.evaluate', params as never));
  }

  ofWorkers(): Promise<ThreadMemory[]> {
    return Promise.all([...this.#workers].map((id) => memoryOf((...message) => this.#ask(id, ...message))));
  }

  close(): void {
    this.#session.disconnect();
  }

  #receive({ message }: NodeWorker.ReceivedMessageFromWorkerEventDataType): void {
    const { id, result } = JSON.parse(message) as { id?: number; result: object };
    if (id === undefined) return;
    this.#answers.get(id)?.(result);
    this.#answers.delete(id);
  }

  #ask(sessionId: string, method: string, params: object = {}): Promise<object> {
    const id = ++this.#sent;
    const answer = new Promise<object>((resolve) => this.#answers.set(id, resolve));
    const message = JSON.stringify({ id, method, params });
    return this.#session.post('NodeWorker.sendMessageToWorker', { sessionId, message }).then(() => answer);
  }
}
