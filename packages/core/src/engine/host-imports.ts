/** How a runtime's module is linked to the host: its imports, and its functions that the host overrides. */
import type { HostFunctions } from '../kernel/syscall-guard.ts';
import type { HostSignatures } from '../wasm/prepare-side-module.ts';
import { type Signature, trampolineModule } from '../wasm/trampoline.ts';
import type { LimitReason } from './run-context.ts';

/** A host function that replaces or observes a function of the module. */
interface HostOverride<Guest> {
  readonly signature: Signature;
  /** Arguments of type i64 are passed as bigint. */
  readonly call: (guest: Guest, ...args: (number | bigint)[]) => number | undefined;
}

/** The parts of a runtime that link its module. The type parameter avoids an import cycle with guest.ts. */
export interface Linkage<Guest> {
  /** The imports by module name. Imports that are missing here are denied: calling one stops the guest. */
  imports(guest: Guest): Record<string, HostFunctions>;
  /** The types of the imports, if guests can load libraries. */
  readonly signatures?: HostSignatures;
  /** In the order of PrepareOptions.hostOverrides. */
  readonly overrides: readonly HostOverride<Guest>[];
  /** Called with the parameters of PrepareOptions.observed before it runs, but not every time. Must not call the guest. */
  readonly observer?: HostOverride<Guest>;
  /** Whether programs usually go on after a system call has failed. */
  readonly goesOn?: boolean;
  /**
   * Makes the interpreter raise an exception at its current line. Called between any two instructions, so it may only
   * set a flag, directly or through an export of the guest.
   */
  interrupt(guest: Guest, reason: LimitReason): void;
}

/** The functions in the host table, between the one that grants fuel and the one that admits memory, which few modules need. */
export const hostTableEntries = <Guest>({ overrides, observer }: Linkage<Guest>) =>
  observer === undefined ? overrides : [...overrides, observer];

const trampolines = new WeakMap<Linkage<never>, WebAssembly.Module>();

/** The trampoline module for the overrides of a linkage, compiled once per linkage. */
export function trampolineFor(linkage: Linkage<never>): WebAssembly.Module {
  let trampoline = trampolines.get(linkage);
  if (trampoline === undefined) {
    const onSliceUsed: Signature = { params: [], results: [] };
    const admit: Signature = { params: ['i32'], results: ['i32'] };
    const signatures = [onSliceUsed, ...hostTableEntries(linkage).map(({ signature }) => signature), admit];
    trampoline = new WebAssembly.Module(trampolineModule(signatures) as BufferSource);
    trampolines.set(linkage, trampoline);
  }
  return trampoline;
}

const importLists = new WeakMap<WebAssembly.Module, readonly WebAssembly.ModuleImportDescriptor[]>();

/** The imports of a module, listed once per module: V8 creates the long list again on every request. */
function moduleImports(module: WebAssembly.Module): readonly WebAssembly.ModuleImportDescriptor[] {
  let list = importLists.get(module);
  if (list === undefined) {
    list = WebAssembly.Module.imports(module);
    importLists.set(module, list);
  }
  return list;
}

/** The imports of an instance: its memory, and a function for each import. `deny` is called for those that are missing. */
export function linkImports(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  functions: Readonly<Record<string, HostFunctions>>,
  deny: (name: string) => never,
): WebAssembly.Imports {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of moduleImports(module)) {
    imports[from] ??= Object.create(null) as Record<string, WebAssembly.ImportValue>;
    const target = imports[from];
    if (kind === 'memory') target[name] = memory;
    else if (kind === 'global') target[name] = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
    else {
      // Own properties only: the module could import a name that every object inherits, such as toString.
      const exists = Object.hasOwn(functions, from) && Object.hasOwn(functions[from]!, name);
      target[name] = exists ? functions[from]![name]! : () => deny(`${from}.${name}`);
    }
  }
  return imports;
}
