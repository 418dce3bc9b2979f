/**
 * The uid of the client that owns the public datasets in the warehouse. This client does not exist in the identity
 * service, so it has no users. Its warehouse database is `c_catalogue`.
 */
export const catalogueClient = '00000000-0000-4000-8000-0000000ca7a1'

/** The name of the catalogue client in the warehouse. It differs from the names of all other clients, which are hexadecimal. */
export const catalogueKey = 'catalogue'

/** The schema of `c_catalogue` with the tables of public datasets. */
export const catalogueSchema = 'datasets'
