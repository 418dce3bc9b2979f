/**
 * The uid of the organisation that owns the public datasets in the warehouse. It does not exist in the identity
 * service, so it has no users. Its warehouse database is `c_catalogue`.
 */
export const catalogueClient = '00000000-0000-4000-8000-0000000ca7a1'

/**
 * The name of the catalogue organisation in the warehouse. It cannot be that of another organisation, because those are
 * hexadecimal.
 */
export const catalogueKey = 'catalogue'

/** The schema in the database `c_catalogue` that contains the tables of public datasets. */
export const catalogueSchema = 'datasets'
