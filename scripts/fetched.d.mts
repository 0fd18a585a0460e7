export function fetched(name: string, packages: readonly string[]): string;
