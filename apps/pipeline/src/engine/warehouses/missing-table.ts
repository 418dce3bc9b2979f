/** Follows the server's sentence about a query that reads a table or view that is not in the warehouse. */
export const missingTableAdvice =
  'It was deleted or not created yet. Load the table, create the view, or correct the query.'
