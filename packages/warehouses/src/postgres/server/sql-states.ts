/**
 * Error codes of PostgreSQL (SQLSTATE) by their condition names.
 * https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
export const sqlStates = {
  protocolViolation: '08P01',
  featureNotSupported: '0A000',
  invalidParameterValue: '22023',
  uniqueViolation: '23505',
  transactionTimeout: '25P04',
  dependentObjectsStillExist: '2BP01',
  invalidSchemaName: '3F000',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  insufficientPrivilege: '42501',
  syntaxError: '42601',
  undefinedColumn: '42703',
  undefinedObject: '42704',
  duplicateObject: '42710',
  datatypeMismatch: '42804',
  undefinedTable: '42P01',
  duplicateSchema: '42P06',
  duplicateTable: '42P07',
  invalidTableDefinition: '42P16',
  configurationLimitExceeded: '53400',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  /** Also reported if another session changes the same catalogue row: "tuple concurrently updated". */
  internalError: 'XX000',
} as const

/** Returns the SQLSTATE of an error from the server, or an empty string for an error without a code. */
export const sqlStateOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? ''
