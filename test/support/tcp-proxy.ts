/** A TCP proxy whose connections a test can cut. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #isRefusing = false;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      if (this.#isRefusing) {
        client.resetAndDestroy();
        return;
      }
      const target = connect(targetPort, '127.0.0.1');
      for (const [from, to] of [
        [client, target],
        [target, client],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Resets all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Resets all connections, and refuses new ones or accepts them again. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
    if (isRefusing) this.cut();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }
}
