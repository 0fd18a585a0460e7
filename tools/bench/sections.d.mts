export function replaceSection(document: string, name: string, text: string, machine: string): string;
