/** How many tests ended how, and how long each file took. */
export type Results = {
  passed: number
  failed: number
  skipped: number
  /** What failed and why; all lines but the first are indented. */
  failures: string[]
  skips: { file: string; reason: string; tests: number }[]
  seconds: [file: string, seconds: number][]
}

export const emptyResults: Results = { passed: 0, failed: 0, skipped: 0, failures: [], skips: [], seconds: [] }

const slowestShown = 10
const failuresShown = 40

/** The ten files that took longest. */
export const formatSlowestFiles = ({ seconds }: Results): string[] =>
  seconds
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, slowestShown)
    .map(([file, taken]) => `${taken.toFixed(1).padStart(7)} s  ${file}`)

/** Returns a line for each reason and file of skipped tests, and one line for all tests of `npm run test:long`. */
export const formatSkippedTests = ({ skips }: Results): string[] => {
  const [long, others] = [true, false].map((wanted) => skips.filter(({ reason }) => isOfLongRuns(reason) === wanted))
  const lines = others!.map(({ file, reason, tests }) => line(tests, `${file}: ${reason}`))
  if (long!.length === 0) return lines
  const [tests, files] = [long!.reduce((sum, { tests }) => sum + tests, 0), new Set(long!.map(({ file }) => file)).size]
  return [...lines, line(tests, `in ${files} ${files === 1 ? 'file' : 'files'}: run with npm run test:long`)]
}

const line = (tests: number, text: string): string => `${String(tests).padStart(7)}    ${text}`
const isOfLongRuns = (reason: string): boolean => reason.endsWith('(runs with npm run test:long)')

/** What failed, and the closing line that people and CI look for. */
export const formatClosingLines = ({ passed, failed, skipped, failures }: Results): string[] => [
  ...failures.slice(0, failuresShown).map((failure) => `✗ ${failure}`),
  ...(failures.length > failuresShown ? [`✗ and ${failures.length - failuresShown} more`] : []),
  `Tests: ${passed} passed, ${failed} failed, ${skipped} skipped`,
]
