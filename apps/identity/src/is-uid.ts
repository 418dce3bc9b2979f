const uidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns whether the text is a uuid. A PostgreSQL query that compares a uuid with other text fails. */
export const isUid = (text: string): boolean => uidPattern.test(text)
