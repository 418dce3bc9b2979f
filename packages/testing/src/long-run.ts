/** Whether `npm run test:long` runs, which sets SLUICE_LONG=1 and leaves nothing out. */
export const isLongRun = process.env['SLUICE_LONG'] === '1'

/**
 * A reason for `describeUnless` and `itUnless`: `npm test` leaves out what is slow and has a quicker test of the same kind
 * beside it.
 */
export const longRunOnly = isLongRun ? undefined : 'runs with npm run test:long'
