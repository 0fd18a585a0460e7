/**
 * The imports of the rasteriser: values of the host that it refers to by number, as wasm-bindgen defines them. It sees the SVG,
 * the fonts and the image that it creates, and nothing else of the host.
 */
import type { Guest } from '../engine/guest.ts';
import type { HostFunctions } from '../kernel/syscall-guard.ts';

/** A value of the host. A `view` is a part of the memory of the rasteriser. */
type HostValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'view'; readonly at: number; readonly length: number }
  | { readonly kind: 'memory' }
  | { readonly kind: 'list'; readonly items: number[] }
  | { readonly kind: 'iterator'; readonly items: readonly number[]; next: number }
  | { readonly kind: 'item'; readonly value: number | undefined };

const MAX_VALUES = 10_000;
/** Total size of the values that a rasteriser keeps: copies of the SVG, the fonts and the image. */
const MAX_BYTES = 256 * 1024 * 1024;
/** wasm-bindgen reserves the numbers below this one. */
const FIRST = 132;

const tables = new WeakMap<Guest, HostValues>();

/** The values that a rasteriser refers to. */
export class HostValues {
  readonly #values = new Map<number, HostValue>();
  #next = FIRST;
  #bytes = 0;

  constructor(readonly guest: Guest) {}

  static of(guest: Guest): HostValues {
    let table = tables.get(guest);
    if (table === undefined) {
      table = new HostValues(guest);
      tables.set(guest, table);
    }
    return table;
  }

  add(value: HostValue): number {
    this.#bytes += bytesOf(value);
    if (this.#values.size >= MAX_VALUES || this.#bytes > MAX_BYTES)
      return this.guest.abort('the rasteriser holds too many object references');
    this.#values.set(this.#next, value);
    return this.#next++;
  }

  get<Kind extends HostValue['kind']>(index: number, kind: Kind): HostValue & { readonly kind: Kind } {
    const value = this.#values.get(index);
    if (value?.kind !== kind) return this.guest.abort(`the rasteriser expects a value of kind ${kind}`);
    return value as HostValue & { readonly kind: Kind };
  }

  peek(index: number): HostValue | undefined {
    return this.#values.get(index);
  }

  drop(index: number): void {
    this.#bytes -= bytesOf(this.#values.get(index));
    this.#values.delete(index);
  }

  /** The bytes of a value; a view is read from memory. */
  bytes(index: number): Uint8Array {
    const value = this.#values.get(index);
    if (value?.kind === 'bytes') return value.bytes;
    const { at, length } = this.get(index, 'view');
    return this.guest.view.bytes(at, length);
  }
}

/** Bytes that a value takes beyond the memory of the rasteriser. */
function bytesOf(value: HostValue | undefined): number {
  if (value?.kind === 'text') return 2 * value.text.length;
  return value?.kind === 'bytes' ? value.bytes.length : 0;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The functions by import name; the suffixes belong to the pinned binary. */
export function rasteriserImports(guest: Guest): HostFunctions {
  const values = () => HostValues.of(guest);
  const text = (at: number, length: number) =>
    decoder.decode(guest.view.bytes(at >>> 0, length >>> 0).slice());
  const addText = (at: number, length: number) => values().add({ kind: 'text', text: text(at, length) });
  return {
    __wbg_new_28c511d9baebfa89: addText,
    __wbindgen_string_new: addText,
    __wbindgen_memory: () => values().add({ kind: 'memory' }),
    __wbg_buffer_12d079cc21e14bdb: () => values().add({ kind: 'memory' }),
    __wbg_newwithbyteoffsetandlength_aa4a17c33a06e5cb: (_: number, at: number, length: number) =>
      values().add({ kind: 'view', at: at >>> 0, length: length >>> 0 }),
    // A copy of a view, or a view of the whole memory.
    __wbg_new_63b92bc8671ed464: (index: number) =>
      values().peek(index)?.kind === 'memory'
        ? values().add({ kind: 'view', at: 0, length: guest.memory.buffer.byteLength })
        : values().add({ kind: 'bytes', bytes: values().bytes(index).slice() }),
    __wbg_set_a47bac70306a19a7: (target: number, source: number, at: number) => {
      const view = values().get(target, 'view');
      const bytes = values().bytes(source);
      guest.view.bytes(view.at + (at >>> 0), bytes.length).set(bytes);
    },
    __wbg_length_c20a40f15020d68a: (index: number) => values().bytes(index).length,
    __wbg_instanceof_Uint8Array_2b3bbecd033d19f6: (index: number) =>
      values().peek(index)?.kind === 'bytes' ? 1 : 0,
    __wbindgen_string_get: (out: number, index: number) => {
      const value = values().peek(index);
      const bytes = value?.kind === 'text' ? encoder.encode(value.text) : undefined;
      const at = bytes === undefined ? 0 : copyIn(guest, bytes);
      guest.view.setU32(out >>> 0, at);
      guest.view.setU32((out >>> 0) + 4, bytes?.length ?? 0);
    },
    __wbg_new_16b304a2cfa7ff4a: () => values().add({ kind: 'list', items: [] }),
    __wbg_push_a5b05aedc7234f9f: (list: number, item: number) => {
      const { items } = values().get(list, 'list');
      if (items.length >= MAX_VALUES) return guest.abort('the rasteriser holds too many object references');
      return items.push(item);
    },
    __wbg_values_839f3396d5aac002: (list: number) =>
      values().add({ kind: 'iterator', items: values().get(list, 'list').items, next: 0 }),
    __wbg_next_196c84450b364254: (index: number) => {
      const iterator = values().get(index, 'iterator');
      return values().add({ kind: 'item', value: iterator.items[iterator.next++] });
    },
    __wbg_done_298b57d23c0fc80c: (index: number) => (values().get(index, 'item').value === undefined ? 1 : 0),
    __wbg_value_d93c65011f51a456: (index: number) => {
      const { value } = values().get(index, 'item');
      const found = value === undefined ? undefined : values().peek(value);
      return found === undefined
        ? guest.abort('the rasteriser read past the end of a list')
        : values().add(found);
    },
    __wbindgen_object_drop_ref: (index: number) => values().drop(index),
    __wbindgen_throw: (at: number, length: number) => guest.abort(text(at, length)),
  };
}

/** Copies bytes into memory that the rasteriser allocates, and returns their address. */
export function copyIn(guest: Guest, bytes: Uint8Array): number {
  const at = guest.call('__wbindgen_malloc', bytes.length, 1) >>> 0;
  guest.view.bytes(at, bytes.length).set(bytes);
  return at;
}
