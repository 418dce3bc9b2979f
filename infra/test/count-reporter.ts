import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Counts } from './counts.ts'

/** The part of jest's results that is counted here. */
type Results = {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  numRuntimeErrorTestSuites: number
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
    }
    writeFileSync(join(this.#folder, `${randomUUID()}.json`), JSON.stringify(counts))
  }
}
