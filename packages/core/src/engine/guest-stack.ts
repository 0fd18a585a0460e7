/** The stack that a guest keeps in its memory. A function call traps while the stack is full. */

export class GuestStack {
  readonly #pointer: WebAssembly.Global<'i32'> | undefined;
  readonly #limit: WebAssembly.Global<'i32'> | undefined;

  constructor(exports: WebAssembly.Exports) {
    this.#pointer = exports['__stack_pointer'] as WebAssembly.Global<'i32'> | undefined;
    this.#limit = exports['stack_limit'] as WebAssembly.Global<'i32'> | undefined;
  }

  /** Sets the lowest allowed value of the stack pointer, which is part of the state of the guest. */
  setLimit(address: number): void {
    this.#limit!.value = address;
  }

  /** The part below the stack pointer. Between two calls into the guest, its contents do not matter. */
  get unused(): { readonly start: number; readonly end: number } {
    return { start: this.#limit!.value, end: this.#pointer!.value };
  }

  get isFull(): boolean {
    return this.#limit !== undefined && this.#pointer!.value < this.#limit.value;
  }
}
