/**
 * Binds the functions that a side module both imports and exports. The static linker writes such an import for every weak
 * function, so that a definition elsewhere can replace it; C++ templates and inline functions are weak. Calls of an import that
 * nothing replaces become calls of the module's own function.
 */
import { EXTERNAL_KIND, HEADER, SECTION } from './binary-format.ts';
import { Reader, Writer } from './binary-io.ts';
import { decode, newInstruction } from './decode-instruction.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import { opcodesNamed } from './opcodes.ts';
import type { ByteRange, ParsedModule } from './parse-module.ts';

const OP = opcodesNamed('call return_call');

/**
 * Returns the module with the calls changed, and the names of the imports that are no longer called. `mainFunctions` replace
 * the functions of the module. An import in an element segment is not bound: no known compiler writes one.
 */
export function bindOwnImports(
  module: ParsedModule,
  mainFunctions: ReadonlySet<string>,
): { bytes: Uint8Array; bound: ReadonlySet<string> } {
  const own = new Map<string, number>();
  for (const { name, kind, index } of module.exports) {
    if (kind === EXTERNAL_KIND.function && index >= module.importedFunctions && !mainFunctions.has(name))
      own.set(name, index);
  }
  const imported = module.imports.filter(({ kind }) => kind === EXTERNAL_KIND.function);
  for (const index of module.addressTaken) own.delete(imported[index]?.name ?? '');
  const targets = new Map<number, number>();
  const bound = new Set<string>();
  for (const [index, { module: from, name }] of imported.entries()) {
    const target = from === 'env' ? own.get(name) : undefined;
    if (target === undefined) continue;
    targets.set(index, target);
    bound.add(name);
  }
  return { bytes: bound.size === 0 ? module.bytes : changeCalls(module, targets), bound };
}

/** A copy of the module with other functions called. */
const changeCalls = (module: ParsedModule, targets: ReadonlyMap<number, number>) =>
  withBodies(module, (position, range, to) => writeBody(module, position, range, targets, to));

/** A copy of the module with other function bodies, which `write` appends. */
export function withBodies(
  module: ParsedModule,
  write: (position: number, original: ByteRange, to: Writer) => void,
): Uint8Array {
  const reader = new Reader(module.bytes, HEADER.length);
  const out = new Writer(module.bytes.length + 65_536).bytes(module.bytes, 0, HEADER.length);
  while (!reader.done) {
    const start = reader.pos;
    const id = reader.u8();
    reader.skip(reader.u32());
    if (id !== SECTION.code) {
      out.bytes(module.bytes, start, reader.pos);
      continue;
    }
    const body = new Writer(65_536);
    const code = new Writer(module.bytes.length).vector(module.bodies, (to, range, i) => {
      write(i, range, body.clear());
      to.u32(body.length).bytes(body.view());
    });
    out.section(id, code.view());
  }
  return out.view();
}

function writeBody(
  module: ParsedModule,
  position: number,
  { start, end }: ByteRange,
  targets: ReadonlyMap<number, number>,
  to: Writer,
): void {
  const { bytes, space } = module;
  const reader = new Reader(bytes, start, end);
  const { params } = module.types[module.functionTypes[module.importedFunctions + position]!]!;
  space.locals = params + skipLocalDeclarations(reader).count;
  const ins = newInstruction();
  let copied = start;
  while (!reader.done) {
    const at = reader.pos;
    decode(reader, space, ins);
    if (ins.opcode !== OP.call && ins.opcode !== OP.return_call) continue;
    const target = targets.get(ins.index);
    if (target === undefined) continue;
    to.bytes(bytes, copied, at).u8(ins.opcode).u32(target);
    copied = reader.pos;
  }
  to.bytes(bytes, copied, end);
}
