/** Stands for a secret of the host. It must never appear in a result. */
export const SECRET = 'redteam-secret-5d1f';
