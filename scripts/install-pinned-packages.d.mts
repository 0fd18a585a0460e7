export function installPinned(name: string, packages: readonly string[]): string;
