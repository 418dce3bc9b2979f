/** Cases of the suite that do not apply to sources other than systems, with the reason. */
export const unsupportedByStores = {
  lookups: 'Objects are selected by a key or a pattern, not from a list.',
  groups: 'A file is one table; lists in it stay JSON.',
  empty: 'A key without objects counts as a mistake: the run fails with NO_OBJECTS, and the old rows stay.',
  signInPage: 'Stores return XML to programs, never a sign-in page.',
} as const

const noHttp = 'The protocol has no such feature.'

/** Of every database. */
export const unsupportedByDatabases = {
  groups: 'A query returns one table.',
  breaksOff:
    'A broken query cannot be resumed: the attempt fails, the old rows stay, and the worker starts another attempt.',
  retryAfter: noHttp,
  signInPage: noHttp,
  redirect: noHttp,
} as const

export const unsupportedByPostgres = {
  ...unsupportedByDatabases,
  badRecord: 'The warehouse can hold every row of another PostgreSQL.',
} as const
