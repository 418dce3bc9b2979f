import { describe, expect, it } from '@jest/globals'
import { closingLine } from './counts.ts'
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
  expect(closingLine({ passed: 12, failed: 1, skipped: 1, failures: ['a.test.ts › adds: no'] })).toBe(
    '✗ a.test.ts › adds: no\nTests: 12 passed, 1 failed, 1 skipped',
  )
})
