/** A module that cannot be loaded, or a symbol that is not found. The message is what dlerror returns in the guest. */
export class LinkFailure extends Error {}
