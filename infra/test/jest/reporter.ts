import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from '../../paths.ts'
import type { TestResults } from '../test-results.ts'

/** The part of Jest's results that is used here. */
type JestResults = {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
  testResults: FileResult[]
}
type FileResult = {
  testFilePath: string
  perfStats: { start: number; end: number }
  testExecError?: unknown
  testResults: {
    status: string
    title: string
    fullName: string
    ancestorTitles: string[]
    failureMessages: string[]
  }[]
}

/** A Jest reporter that writes the results for the closing lines of `npm test` to a file. */
export default class ResultsReporter {
  readonly #file: string
  readonly #selectsByName: boolean

  constructor(globalConfig: { testNamePattern?: string | null }, { file }: { file: string }) {
    this.#file = file
    this.#selectsByName = Boolean(globalConfig.testNamePattern)
  }

  onRunComplete(_contexts: unknown, results: JestResults): void {
    const summary: TestResults = {
      passed: results.numPassedTests,
      // A file that cannot be loaded counts as one failed test.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      failures: results.testResults.flatMap(listFailures),
      // With -t, every test of another name counts as skipped.
      skips: this.#selectsByName ? [] : results.testResults.flatMap(listSkips),
      seconds: results.testResults.map(({ testFilePath, perfStats: { start, end } }) => [
        relative(root, testFilePath),
        (end - start) / 1_000,
      ]),
    }
    writeFileSync(this.#file, JSON.stringify(summary))
  }
}

/** Returns the failures of a test file: file, test name and message. */
function listFailures({ testFilePath, testExecError, testResults }: FileResult): string[] {
  const file = relative(root, testFilePath)
  if (testExecError) return [`${file}: could not be loaded, or failed outside of its tests`]
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(
      ({ fullName, failureMessages }) =>
        `${file} › ${fullName.slice(0, 300)}: ${extractMessage(failureMessages[0] ?? '')}`,
    )
}

/**
 * Returns the skipped tests of a file by reason. The reason is the outermost title that ends with `)`, or else the
 * title of the test.
 */
function listSkips({ testFilePath, testResults }: FileResult): TestResults['skips'] {
  const file = relative(root, testFilePath)
  const counts = new Map<string, number>()
  for (const { status, title, ancestorTitles } of testResults) {
    if (status !== 'pending' && status !== 'todo') continue
    const reason = [...ancestorTitles, title].find((text) => text.endsWith(')')) ?? title
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return [...counts].map(([reason, tests]) => ({ file, reason, tests }))
}

const maxMessageLines = 15

/** Returns the message of a failure, with the expected and the actual value, without the stack trace. */
function extractMessage(failure: string): string {
  const lines = stripVTControlCharacters(failure).split('\n')
  const stack = lines.findIndex((line) => /^\s+at /.test(line))
  const message = lines.slice(0, stack < 0 ? undefined : stack).filter((line) => line.trim() !== '')
  return message
    .slice(0, maxMessageLines)
    .map((line) => line.slice(0, 200))
    .join('\n    ')
}
