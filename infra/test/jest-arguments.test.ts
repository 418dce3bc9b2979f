import { describe, expect, it } from '@jest/globals'
import { jestArguments, selectsFiles } from './jest-arguments.ts'

const workspaces = [
  { name: '@sluice/http-server', folder: 'packages/http-server' },
  { name: '@sluice/pipeline', folder: 'apps/pipeline' },
]

describe('the arguments of npm test', () => {
  it.each([
    [[], []],
    [['pipeline'], ['/apps/pipeline/']],
    [
      ['apps/pipeline/', 'http-server'],
      ['/apps/pipeline/', '/packages/http-server/'],
    ],
    [
      ['@sluice/http-server', '-t', 'refuses'],
      ['/packages/http-server/', '-t', 'refuses'],
    ],
    [
      ['csv', '-t', 'http'],
      ['csv', '-t', 'http'],
    ],
    [['./apps/pipeline/src/a.test.ts'], ['apps/pipeline/src/a.test.ts']],
    [['infra'], ['/infra/']],
    [['infra/local'], ['infra/local']],
    [
      ['csv', '--watch'],
      ['csv', '--watch'],
    ],
  ])('%j become %j for Jest, with package names as folders', (args, expected) => {
    expect(jestArguments(args, workspaces)).toEqual(expected)
  })

  it.each([
    [[], false],
    [['-t', 'http', '--watch'], false],
    [['csv', '-t', 'http'], true],
  ])('selectsFiles(%j) returns %j', (args, expected) => {
    expect(selectsFiles(args)).toBe(expected)
  })
})
