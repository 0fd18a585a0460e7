/** Assembles the smallest WebAssembly module that calls one import. */
const text = (value: string) => {
  const bytes = [...new TextEncoder().encode(value)];
  return [...leb(bytes.length), ...bytes];
};
const leb = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)]);
const section = (id: number, content: number[]) => [id, ...leb(content.length), ...content];

/** Returns a module that imports the function `module.name` and exports `run`, which calls it. */
export function moduleThatCalls(module: string, name: string): Uint8Array {
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 0, 0]),
    ...section(2, [1, ...text(module), ...text(name), 0x00, 0]),
    ...section(3, [1, 0]),
    ...section(4, [1, 0x70, 0x00, 1]),
    ...section(5, [1, 0x00, 1]),
    ...section(7, [
      3,
      ...[...text('run'), 0x00, 1],
      ...[...text('memory'), 0x02, 0],
      ...[...text('__indirect_function_table'), 0x01, 0],
    ]),
    ...section(10, [1, 4, 0, 0x10, 0, 0x0b]),
  ]);
}
