export function missingTools(): string[];
