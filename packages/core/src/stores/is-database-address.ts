/** Distinguishes addresses of databases from folders. */

/** Whether the address of a store is that of a database. All others are folders. */
export function isDatabaseAddress(address: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(address);
}
