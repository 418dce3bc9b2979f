/** The rules of the conformance suite. docs/conformance.md numbers them in this order. */
export const rules = {
  tried: 'passes the connection test with valid credentials',
  refused: 'fails the connection test with wrong credentials or a wrong address: the message says what to do',
  lookups: 'lists what can be selected',
  preview: 'is previewed, without being read completely',
  whole: 'is loaded completely',
  groups: 'has a table for a repeated group, whose rules refer to their record',
  increment: 'adds new records in an incremental run',
  edit: 'replaces changed records in an incremental run',
  gone: 'removes deleted records in a full run, and updates changed ones',
  columnAdded: 'may get a new column, and lose it again',
  columnRetyped: 'may change the type of a column: the type is widened, and no value is lost',
  empty: 'may be empty: the table is then empty, and is filled later',
  badRecord: 'may have a record that no row can hold: it is rejected, and all others are loaded',
  breaksOff: 'is loaded completely although the connection broke during a response',
  keepsBreaking: 'fails with a message if the connection keeps breaking, and the old rules stay',
  retryAfter: 'is not called again before the time that it asks for',
  expired: 'fails if the credentials expire during the load, and the old rules stay',
  fails: "fails with the server's error in the message if the server keeps failing",
  signInPage: 'fails if the server returns a sign-in page instead of data',
  redirect: 'does not send credentials to another host',
  cancelled: 'stops at once when the run is cancelled, even if the server is silent or asked for a pause',
  large: 'is loaded with bounded memory, however large it is',
  secrets: 'reveals no secret, whatever the server returns',
} as const

export type Rule = keyof typeof rules
export type UnsupportedRules = Partial<Record<Rule, string>>
