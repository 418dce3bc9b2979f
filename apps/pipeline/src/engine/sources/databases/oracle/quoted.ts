/** Oracle has no way to quote a quotation mark in a name, and so no name with one. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '')}"`
