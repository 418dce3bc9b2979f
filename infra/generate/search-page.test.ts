import { expect, it } from '@jest/globals'
import { pipelineOperations } from '@sluice/contracts'
import { findListErrors, generateSearchPage } from './search-page.ts'

const { list, search } = pipelineOperations.schemas
const properties = { '/schemas': {} }

it('findListErrors reports paths that only the operations or only the page contain', () => {
  expect(findListErrors([list, search], properties)).toEqual([])
  expect(findListErrors([list, search], {})).toEqual([
    '/schemas has filters, and search-page.ts has no properties for it',
  ])
  expect(findListErrors([search], properties)).toEqual([
    'search-page.ts has properties for /schemas, which has no filters',
  ])
})

it('generateSearchPage lists property types, enum values, required roles and properties without an order', () => {
  const { content } = generateSearchPage()
  const row = (path: string) => (content as string).split('\n').find((line) => line.startsWith(`| \`${path}\` |`))
  expect(row('/users')).toMatch(
    /\*\*id:\*\* id, client\.id with ROLE_MANAGE_CLIENT, \*userGroups\.id\*; \*\*text:\*\* name, /,
  )
  expect(row('/users')).toContain('status (INVITATION, ACTIVE, INACTIVE)')
  expect(row('/data-quality-checks')).toBe(
    '| `/data-quality-checks` | yes | 1,000 | **id:** id; **text:** name, shortName, code, description, query; **time:** created, lastUpdated |',
  )
  expect(row('/tables')).toBe('| `/tables` | List the tables of all schemas | 200 | 10,000 |')
})
