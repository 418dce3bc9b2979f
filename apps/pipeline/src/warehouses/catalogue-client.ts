/**
 * The client that owns the public datasets in the warehouse. The identity service does not know it, so no user can act for it. Its
 * warehouse database is `c_catalogue`.
 */
export const catalogueClient = '00000000-0000-4000-8000-0000000ca7a1'

/** The name of the catalogue client in the warehouse. It is unique, because the names of other clients are hexadecimal. */
export const catalogueKey = 'catalogue'

/** The schema of `c_catalogue` that has the tables of public datasets. */
export const catalogueSchema = 'datasets'
