const uidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Returns whether the text is a UUID. Check this first, because PostgreSQL fails if a query compares a UUID column with
 * other text.
 */
export const isUid = (text: string): boolean => uidPattern.test(text)
