import { describe, expect, it } from '@jest/globals'
import { selectLongDurations } from './test-durations.ts'
import { formatClosingLines, emptyResults, formatSkippedTests, formatSlowestFiles } from './test-results.ts'

describe('the summary of npm test', () => {
  it('lists each failure and ends with the counts', () => {
    expect(
      formatClosingLines({ ...emptyResults, passed: 12, failed: 1, skipped: 1, failures: ['a.test.ts › adds: no'] }),
    ).toEqual(['✗ a.test.ts › adds: no', 'Tests: 12 passed, 1 failed, 1 skipped'])
  })

  it('lists the ten slowest files, slowest first', () => {
    const seconds = Array.from({ length: 12 }, (_, i): [string, number] => [`${i}.test.ts`, i])
    const lines = formatSlowestFiles({ ...emptyResults, seconds })
    expect(lines).toHaveLength(10)
    expect(lines[0]).toBe('   11.0 s  11.test.ts')
  })

  it('lists the number, the file and the reason of skipped tests', () => {
    const skips = [{ file: 'a.test.ts', reason: 'MariaDB as a source (no MariaDB server)', tests: 3 }]
    expect(formatSkippedTests({ ...emptyResults, skips })).toEqual([
      '      3    a.test.ts: MariaDB as a source (no MariaDB server)',
    ])
  })

  it('counts the tests that run only with npm run test:long in one line', () => {
    const reason = 'goes on (runs with npm run test:long)'
    const skips = [
      { file: 'a.test.ts', reason, tests: 3 },
      { file: 'b.test.ts', reason: 'is there (no server)', tests: 1 },
      { file: 'c.test.ts', reason, tests: 2 },
    ]
    expect(formatSkippedTests({ ...emptyResults, skips })).toEqual([
      '      1    b.test.ts: is there (no server)',
      '      5    in 2 files: run with npm run test:long',
    ])
  })
})

describe('selectLongDurations', () => {
  it('returns rounded seconds by file name, without short files', () => {
    const seconds: [string, number][] = [
      ['apps/a/long.test.ts', 12.4],
      ['apps/b/long.test.ts', 3],
      ['apps/a/short.test.ts', 0.3],
    ]
    expect(selectLongDurations({ seconds })).toEqual({ 'long.test.ts': 12 })
  })
})
