import { describe, expect, it } from '@jest/globals'
import { closingLine, slowest } from './counts.ts'
import { selection } from './selection.ts'

const workspaces = [
  { name: '@sluice/http', folder: 'packages/http' },
  { name: '@sluice/pipeline', folder: 'apps/pipeline' },
]
const all = ['@sluice/http', '@sluice/pipeline']

describe('the arguments of npm test', () => {
  it.each([
    [[], { packages: all, infra: true, jest: [] }],
    [['pipeline'], { packages: ['@sluice/pipeline'], infra: false, jest: [] }],
    [['apps/pipeline/', 'http'], { packages: ['@sluice/pipeline', '@sluice/http'], infra: false, jest: [] }],
    [['@sluice/http', '-t', 'refuses'], { packages: ['@sluice/http'], infra: false, jest: ['-t', 'refuses'] }],
    [['./apps/pipeline/src/a.test.ts'], { packages: ['@sluice/pipeline'], infra: false, jest: ['src/a.test.ts'] }],
    [['infra'], { packages: [], infra: true, jest: [] }],
    [['infra/local'], { packages: [], infra: true, jest: ['infra/local'] }],
    [['csv'], { packages: all, infra: true, jest: ['csv'] }],
  ])('%j choose what runs', (args, expected) => {
    expect(selection(args, workspaces)).toEqual(expected)
  })
})

it('the closing line has one form', () => {
  expect(closingLine({ passed: 12, failed: 1, skipped: 1, failures: ['a.test.ts › adds: no'], seconds: [] })).toBe(
    '✗ a.test.ts › adds: no\nTests: 12 passed, 1 failed, 1 skipped',
  )
})

it('the slowest files are named, the slowest first', () => {
  const seconds: [string, number][] = [
    ['quick.test.ts', 9.9],
    ['slow.test.ts', 61.4],
    ['slower.test.ts', 320],
  ]
  expect(slowest({ passed: 1, failed: 0, skipped: 0, failures: [], seconds })).toBe(
    '  320 s  slower.test.ts\n   61 s  slow.test.ts\n',
  )
})
