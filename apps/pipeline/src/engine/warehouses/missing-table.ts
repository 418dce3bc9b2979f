/** Follows the server's sentence about a query that reads a table or view that is not in the warehouse. */
export const missingTableAdvice = 'It was deleted or never loaded: load it, or correct the query.'
