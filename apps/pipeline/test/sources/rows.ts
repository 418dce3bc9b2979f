/** What every source has to do: the rows of the conformance suite, in the order in which docs/conformance.md numbers them. */
export const rows = {
  tried: 'is tried: it answers, and takes the credentials',
  refused: 'is tried with wrong credentials, and at a wrong address: a sentence says what to do',
  lookups: 'says what there is to choose from',
  preview: 'is previewed, without all of it being read',
  whole: 'is there whole',
  groups: 'has a table for a group that repeats, whose rows know what they belong to',
  increment: 'is gone on with: what is new comes to what was there',
  edit: 'takes what was changed in place of what it was',
  gone: 'loses with a full reading what is gone, and takes what was changed',
  columnAdded: 'may get a column, and lose it',
  columnRetyped: 'may change the type of a column: it is widened, and nothing is lost',
  empty: 'may be empty: then the table is, and fills later',
  badRecord: 'may have a record that no row can hold: it is set aside, and all others are there',
  breaksOff: 'is read to its end although the connection broke off in the middle of an answer',
  keepsBreaking: 'is given up in a sentence when the connection keeps breaking off, and the old rows stay',
  retryAfter: 'is left alone for as long as it asks to be',
  expired: 'may take the credentials no more in the middle: the old rows stay',
  fails: 'fails by itself, for good: its own words are in the sentence',
  signInPage: 'answers with a page to sign in where data should be',
  redirect: 'does not get the credentials sent on to another host',
  cancelled: 'is let go at once when the run is cancelled, however silent it is, and however long it wants to rest',
  large: 'is read in bounded memory, however large it is',
  secrets: 'says nothing secret, whatever it is sent back',
} as const

export type Row = keyof typeof rows
export type Without = Partial<Record<Row, string>>
