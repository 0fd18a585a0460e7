/** The ciphers of encrypted documents, loaded on first use, because making their tables takes 0.6B fuel. */
export const cbc = (...args) => require('@noble/ciphers/aes').cbc(...args);
export const ecb = (...args) => require('@noble/ciphers/aes').ecb(...args);
