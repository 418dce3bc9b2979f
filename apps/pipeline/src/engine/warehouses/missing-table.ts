/** The sentence after a server's message that a table or view of a query is not in the warehouse. */
export const missingTableAdvice = 'It was deleted or never loaded: load it, or correct the query.'
