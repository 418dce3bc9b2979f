/** Rows of the suite that do not apply to sources that are no systems, and why. */
export const ofStores = {
  lookups: 'Objects are named by a key or a pattern; the interface has no look-up of them.',
  groups: 'A file is one table; lists in it stay JSON.',
  empty: 'Nothing where files should be is taken for a mistake: the run fails with NO_OBJECTS, and the old rows stay.',
  signInPage: 'Stores answer requests of programs with XML, and send nobody to a page.',
} as const

const whole = 'A query says of no row when it was changed: each run reads all of it, and replaces the rows.'
const noHttp = 'The protocol has nothing like it.'

/** Of every database. */
export const ofDatabases = {
  groups: 'A query gives one table.',
  increment: whole,
  edit: whole,
  breaksOff:
    'A query is not taken up where it broke off: the attempt fails, the old rows stay, and the worker begins another one.',
  retryAfter: noHttp,
  signInPage: noHttp,
  redirect: noHttp,
} as const

export const ofPostgres = {
  ...ofDatabases,
  badRecord: 'The warehouse holds every row that another PostgreSQL can hold.',
} as const
