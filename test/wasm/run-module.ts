/** Instantiates prepared modules for tests. */
import { type PreparedModule, prepareModule } from '../../packages/core/src/wasm/prepare-module.ts';
import { type Signature, trampolineModule } from '../../packages/core/src/wasm/trampoline.ts';
import { build, type ModuleSource } from './assembler.ts';

export interface Guest {
  readonly exports: Record<string, (...args: number[]) => number>;
  readonly fuel: WebAssembly.Global<'i64'>;
  readonly memory: WebAssembly.Memory;
}

const ADMIT: Signature = { params: ['i32'], results: ['i32'] };

/**
 * `outOfFuel` becomes entry 0 of the host table: the guest calls it when the fuel is below zero. `admit` becomes the last one: the
 * guest calls it before its memory grows.
 */
export function start(
  prepared: PreparedModule,
  imports: Record<string, () => void> = {},
  outOfFuel: (fuel: WebAssembly.Global<'i64'>) => void = () => {},
  admit = (pages: number) => pages,
): Guest {
  const memory = new WebAssembly.Memory({ initial: prepared.memory.minPages, maximum: 65_536 });
  for (const { offset, bytes } of prepared.data) new Uint8Array(memory.buffer).set(bytes, offset);
  const module = new WebAssembly.Module(prepared.bytes as BufferSource);
  const instance = new WebAssembly.Instance(module, { env: { ...imports, memory } });
  const fuel = instance.exports['fuel'] as WebAssembly.Global<'i64'>;
  const signatures = [{ params: [], results: [] }, ADMIT];
  const trampoline = new WebAssembly.Instance(
    new WebAssembly.Module(trampolineModule(signatures) as BufferSource),
    { host: { 0: () => outOfFuel(fuel), 1: admit } },
  );
  const slots = instance.exports['host'] as WebAssembly.Table;
  for (let slot = 0; slot < slots.length; slot++) slots.set(slot, trampoline.exports[String(slot)]);
  return { exports: instance.exports as Guest['exports'], fuel, memory };
}

/** More fuel than any test uses. */
export const AMPLE_FUEL = 1n << 40n;

export { prepareModule };

/** Calls `run` and grants fuel in slices of the given size. */
export function execute(source: ModuleSource, args: readonly number[], meter: boolean, slice: bigint) {
  let granted = slice;
  let refills = 0;
  const probes: number[] = [];
  const spent = () => Number(granted - (guest.fuel.value as bigint));
  const growsMemory = JSON.stringify(source.functions).includes('memory.grow');
  const prepared = prepareModule(build(source), { exports: ['run'], meter });
  const guest = start(prepared, { probe: () => probes.push(spent()) }, (fuel) => {
    if ((fuel.value as bigint) >= 0n) {
      // memory.grow always calls the host.
      if (!growsMemory) throw new Error('the guest asked for fuel although it had some');
      return;
    }
    refills++;
    while ((fuel.value as bigint) < 0n) {
      granted += slice;
      fuel.value = (fuel.value as bigint) + slice;
    }
  });
  guest.fuel.value = slice;
  let result: number | 'thrown';
  try {
    result = guest.exports['run']!(...args);
  } catch (error) {
    if (!(error instanceof WebAssembly.Exception)) throw error;
    result = 'thrown';
  }
  return { result, fuel: spent(), probes, refills, memory: new Uint8Array(guest.memory.buffer) };
}
