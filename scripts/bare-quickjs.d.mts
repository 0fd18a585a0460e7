interface BareEngine {
  evaluate(
    code: string,
    file?: string,
    isModule?: boolean,
  ): { readonly value?: string | undefined; readonly error?: string | undefined; readonly text?: string };
  fuel(): number;
}
export declare function quickJsBinary(): Uint8Array;
export declare function bareEngine(bytes: Uint8Array, options?: { readonly meter?: boolean }): BareEngine;
