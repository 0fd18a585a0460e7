/**
 * Asks whether packages are there. Returns the names of those that are not. If the host can add them, it stops the guest instead
 * and starts the program again. A requirement is a name with version specifiers, such as `pandas>=2`.
 */
export type FindPackages = (kind: 'module' | 'requirement', names: readonly string[]) => readonly string[];

/** Names in one request. */
export const MAX_PACKAGE_NAMES = 30;
