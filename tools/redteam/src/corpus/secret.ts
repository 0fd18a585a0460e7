/** Stands for a secret of the host. It must never appear in a result. */
export const SECRET = 'redteam-secret-5d1f';
/** Secrets of the tenants of a server under attack. */
export const TOKENS = { ann: 'redteam-ann-0123456789abcdef', bob: 'redteam-bob-0123456789abcdef' } as const;
