/**
 * Whose the public datasets are in the warehouse: a client that the identity service does not have, so nobody can act for it. Its
 * warehouse is a database like that of any other, `c_catalogue`.
 */
export const catalogueClient = '00000000-0000-4000-8000-0000000ca7a1'

/** Its name in the warehouse, which no other can have: theirs are hexadecimal. */
export const catalogueKey = 'catalogue'

/** The schema of that database in which the tables of public datasets are. */
export const catalogueSchema = 'datasets'
