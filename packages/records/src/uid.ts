const pattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Can this be the identifier of anything? PostgreSQL fails a query that compares a uuid with other text. */
export const isUid = (text: string): boolean => pattern.test(text)
