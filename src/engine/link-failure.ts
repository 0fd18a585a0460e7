/** A load or a search for a symbol that failed. The message is what dlerror returns in the guest. */
export class LinkFailure extends Error {}
