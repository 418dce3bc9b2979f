/** True in `npm run test:long`, which sets SLUICE_LONG=1. */
export const isLongRun = process.env['SLUICE_LONG'] === '1'

/**
 * A reason for `describeUnless` and `itUnless`. Use it for slow tests of a rule that a quicker test also checks in
 * every `npm test`.
 */
export const longRunOnly = isLongRun ? undefined : 'runs with npm run test:long'
