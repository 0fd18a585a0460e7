/** Runs prepared modules in the engine, with a host that counts. */

import { type PreparedModule, prepareModule } from '../../src/wasm/prepare-module.ts';
import { trampolineModule } from '../../src/wasm/trampoline.ts';

export interface Guest {
  readonly exports: Record<string, (...args: number[]) => number>;
  readonly fuel: WebAssembly.Global<'i64'>;
  readonly memory: WebAssembly.Memory;
}

/** `outOfFuel` is put into slot 0, `host` into the slots after it. */
export function start(
  prepared: PreparedModule,
  imports: Record<string, () => void> = {},
  outOfFuel: (fuel: WebAssembly.Global<'i64'>) => void = () => {},
): Guest {
  const memory = new WebAssembly.Memory({ initial: prepared.memory.minPages, maximum: 4096 });
  for (const { offset, bytes } of prepared.data) new Uint8Array(memory.buffer).set(bytes, offset);
  const module = new WebAssembly.Module(prepared.bytes as BufferSource);
  const instance = new WebAssembly.Instance(module, { env: { ...imports, memory } });
  const fuel = instance.exports['fuel'] as WebAssembly.Global<'i64'>;
  const gate = new WebAssembly.Instance(
    new WebAssembly.Module(trampolineModule([{ params: [], results: [] }]) as BufferSource),
    {
      host: { 0: () => outOfFuel(fuel) },
    },
  );
  (instance.exports['host'] as WebAssembly.Table).set(0, gate.exports['0']);
  return { exports: instance.exports as Guest['exports'], fuel, memory };
}

export const PLENTY = 1n << 40n;

export { prepareModule };
