/** Placeholders of secrets, which programs have instead of the secrets. */

export const PLACEHOLDER_PREFIX = 'secret_';
const PLACEHOLDER = /^secret_[\da-f]{25,121}$/;

export const isPlaceholder = (text: string | undefined) => text !== undefined && PLACEHOLDER.test(text);
