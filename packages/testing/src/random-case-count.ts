/** Environment variables that set the number of draws of one test run. */
type DrawVariable = 'SLUICE_FUZZ_CASES' | 'SLUICE_KILLS'

interface DrawCounts {
  /** For `npm test`. */
  short: number
  /** For `npm run test:long`, which sets SLUICE_LONG=1. */
  long: number
  /** Overrides both. */
  variable?: DrawVariable
}

/** Returns how many random cases a test draws. Throws if the environment variable is not a positive integer. */
export function drawCount({ short, long, variable = 'SLUICE_FUZZ_CASES' }: DrawCounts): number {
  const given = process.env[variable]
  if (!given) return process.env['SLUICE_LONG'] === '1' ? long : short
  const count = Number(given)
  if (Number.isSafeInteger(count) && count > 0) return count
  throw new Error(`${variable} must be a positive integer, but is "${given}".`)
}
