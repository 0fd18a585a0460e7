/** Instantiates prepared modules for tests. */
import { type PreparedModule, prepareModule } from '../../src/wasm/prepare-module.ts';
import { trampolineModule } from '../../src/wasm/trampoline.ts';

export interface Guest {
  readonly exports: Record<string, (...args: number[]) => number>;
  readonly fuel: WebAssembly.Global<'i64'>;
  readonly memory: WebAssembly.Memory;
}

/** `outOfFuel` becomes entry 0 of the host table: the guest calls it when the fuel is below zero. */
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
  const trampoline = new WebAssembly.Instance(
    new WebAssembly.Module(trampolineModule([{ params: [], results: [] }]) as BufferSource),
    {
      host: { 0: () => outOfFuel(fuel) },
    },
  );
  (instance.exports['host'] as WebAssembly.Table).set(0, trampoline.exports['0']);
  return { exports: instance.exports as Guest['exports'], fuel, memory };
}

/** More fuel than any test uses. */
export const AMPLE_FUEL = 1n << 40n;

export { prepareModule };
