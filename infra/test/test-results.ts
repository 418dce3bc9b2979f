/** The counts of tests by outcome, their failures, and the duration of each file. */
export type TestResults = {
  passed: number
  failed: number
  skipped: number
  /** The name and the message of each failed test. All lines except the first are indented. */
  failures: string[]
  /** Skipped tests by file and reason. */
  skips: { file: string; reason: string; tests: number }[]
  seconds: [file: string, seconds: number][]
}

export const emptyResults: TestResults = { passed: 0, failed: 0, skipped: 0, failures: [], skips: [], seconds: [] }

const maxSlowestFiles = 10
const maxFailures = 40

/** Returns a line for each of the ten slowest files. */
export const formatSlowestFiles = ({ seconds }: TestResults): string[] =>
  seconds
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, maxSlowestFiles)
    .map(([file, taken]) => `${taken.toFixed(1).padStart(7)} s  ${file}`)

/** Returns a line for each reason and file of skipped tests, and one line for all tests of `npm run test:long`. */
export const formatSkippedTests = ({ skips }: TestResults): string[] => {
  const [longRunSkips, otherSkips] = [true, false].map((wanted) =>
    skips.filter(({ reason }) => isLongRunReason(reason) === wanted),
  )
  const lines = otherSkips!.map(({ file, reason, tests }) => formatSkipLine(tests, `${file}: ${reason}`))
  if (longRunSkips!.length === 0) return lines
  const [tests, files] = [
    longRunSkips!.reduce((sum, { tests }) => sum + tests, 0),
    new Set(longRunSkips!.map(({ file }) => file)).size,
  ]
  return [...lines, formatSkipLine(tests, `in ${files} ${files === 1 ? 'file' : 'files'}: run with npm run test:long`)]
}

const formatSkipLine = (tests: number, text: string): string => `${String(tests).padStart(7)}    ${text}`
const isLongRunReason = (reason: string): boolean => reason.endsWith('(runs with npm run test:long)')

/** Returns the failures and the last line of `npm test` with the counts. CI searches for this line. */
export const formatClosingLines = ({ passed, failed, skipped, failures }: TestResults): string[] => [
  ...failures.slice(0, maxFailures).map((failure) => `✗ ${failure}`),
  ...(failures.length > maxFailures ? [`✗ and ${failures.length - maxFailures} more`] : []),
  `Tests: ${passed} passed, ${failed} failed, ${skipped} skipped`,
]
