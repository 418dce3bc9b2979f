import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from '../paths.ts'
import type { Counts } from './counts.ts'

/** The part of jest's results that is counted here. */
type Results = {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
  testResults: {
    testFilePath: string
    perfStats: { start: number; end: number }
    testExecError?: unknown
    testResults: { status: string; fullName: string; failureMessages: string[] }[]
  }[]
}

/** Jest reporter: leaves one package's counts in a folder, where infra/test/test.ts sums them. */
export default class CountReporter {
  readonly #folder: string

  constructor(_config: unknown, { folder }: { folder: string }) {
    this.#folder = folder
  }

  onRunComplete(_contexts: unknown, results: Results): void {
    const counts: Counts = {
      passed: results.numPassedTests,
      // A file that cannot even be loaded has no tests to count, and is a failure all the same.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      failures: results.testResults.flatMap(failuresOf),
      seconds: results.testResults.map(({ testFilePath, perfStats: { start, end } }) => [
        relative(root, testFilePath),
        (end - start) / 1_000,
      ]),
    }
    writeFileSync(join(this.#folder, `${randomUUID()}.json`), JSON.stringify(counts))
  }
}

/** By file and name, with the first line of what went wrong. */
function failuresOf({ testFilePath, testExecError, testResults }: Results['testResults'][number]): string[] {
  const file = relative(root, testFilePath)
  if (testExecError) return [`${file}: could not be loaded`]
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `${file} › ${fullName}: ${firstLine(failureMessages[0] ?? '')}`)
}

const firstLine = (text: string) => stripVTControlCharacters(text).split('\n')[0]!.slice(0, 200)
