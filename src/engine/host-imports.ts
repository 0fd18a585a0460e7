/**
 * How a runtime's module is tied to its host: the doors it has, and the functions of ours it calls. What is made from a
 * linkage or a module is made once.
 */
import type { HostFunctions } from '../kernel/syscall-guard.ts';
import { type Signature, trampolineModule } from '../wasm/trampoline.ts';
import type { LimitReason } from './run-limits.ts';

export interface HostOverride<Guest> {
  readonly signature: Signature;
  readonly call: (guest: Guest, ...args: number[]) => number | undefined;
}

/** How a runtime's module is linked. Imports that the doors leave out are denied: calling one ends the guest. */
export interface Linkage<Guest> {
  imports(guest: Guest): Record<string, HostFunctions>;
  /** In the order of PrepareOptions.hostOverrides. */
  readonly overrides: readonly HostOverride<Guest>[];
  /** Makes the interpreter raise at the line it is on. Called between any two instructions: it may only set a flag. */
  interrupt(guest: Guest, reason: LimitReason): void;
}

const gates = new WeakMap<Linkage<never>, WebAssembly.Module>();

/** The module through which a linkage's host functions are reached, compiled once. */
export function trampolineFor(linkage: Linkage<never>): WebAssembly.Module {
  let gate = gates.get(linkage);
  if (gate === undefined) {
    const onSliceSpent: Signature = { params: [], results: [] };
    const signatures = [onSliceSpent, ...linkage.overrides.map((host) => host.signature)];
    gate = new WebAssembly.Module(trampolineModule(signatures) as BufferSource);
    gates.set(linkage, gate);
  }
  return gate;
}

const importLists = new WeakMap<WebAssembly.Module, readonly WebAssembly.ModuleImportDescriptor[]>();

/** What a module imports; the engine makes the list anew each time it is asked, and it is long. */
export function moduleImports(module: WebAssembly.Module): readonly WebAssembly.ModuleImportDescriptor[] {
  let list = importLists.get(module);
  if (list === undefined) {
    list = WebAssembly.Module.imports(module);
    importLists.set(module, list);
  }
  return list;
}
