/** Environment variables that set the number of random cases in one test run. */
type DrawVariable = 'SLUICE_FUZZ_CASES' | 'SLUICE_KILLS'

interface DrawCounts {
  /** The number for `npm test`. */
  short: number
  /** The number for `npm run test:long`, which sets SLUICE_LONG=1. */
  long: number
  /** The environment variable that replaces both numbers. */
  variable?: DrawVariable
}

/** Returns the number of random cases for a test. Throws if the environment variable is not a positive integer. */
export function drawCount({ short, long, variable = 'SLUICE_FUZZ_CASES' }: DrawCounts): number {
  const given = process.env[variable]
  if (!given) return process.env['SLUICE_LONG'] === '1' ? long : short
  const count = Number(given)
  if (Number.isSafeInteger(count) && count > 0) return count
  throw new Error(`${variable} must be a positive integer, but is "${given}".`)
}
