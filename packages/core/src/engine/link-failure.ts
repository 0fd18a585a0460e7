/** A module that cannot be loaded, or a symbol that is not found. The message is what dlerror returns in the guest. */
export class LinkFailure extends Error {}

/** Why a library cannot take the address of a symbol. Functions of the host can be called, but they are not in the table. */
export function undefinedSymbol(path: string, name: string, hostFunctions: object = {}): LinkFailure {
  return new LinkFailure(
    Object.hasOwn(hostFunctions, name)
      ? `${path}: the library takes the address of ${name}, but ${name} is a host function and has no address`
      : `${path}: undefined symbol: ${name}`,
  );
}
