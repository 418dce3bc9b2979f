import { expect, it } from '@jest/globals'
import { openapi } from '@sluice/http-server'
import { servedOperations } from '../src/api/operations.ts'
import { identityServiceInfo } from '../src/openapi-info.ts'

const document = openapi(servedOperations, identityServiceInfo)

it('the API reference gives every tag a readable name and a description', () => {
  for (const { name, description } of document.tags) {
    expect(name).toMatch(/^[A-Z][A-Za-z -]+$/)
    expect(description).toMatch(/^[A-Z].+\.$/)
  }
  expect(document.tags.map(({ name }) => name)).toContain('SSO providers')
  expect(document.info).not.toHaveProperty('nouns')
  const nouns = new Set(servedOperations.map(({ signature }) => signature.id.split('.')[0]!))
  expect(Object.keys(identityServiceInfo.nouns ?? {}).toSorted()).toEqual([...nouns].toSorted())
})

it('the API reference has an example for every property with a pattern', () => {
  const bare: string[] = []
  const walk = (part: unknown, path: string) => {
    if (part === null || typeof part !== 'object') return
    if ('pattern' in part && !('examples' in part)) bare.push(path)
    for (const [key, value] of Object.entries(part)) walk(value, `${path}/${key}`)
  }
  walk(document, '')
  // A property whose pattern has two parts has its example at the first one.
  expect(bare.filter((path) => !path.includes('/allOf/'))).toEqual([])
})

it('the API reference says in POST /users how to create a user without single sign-on', () => {
  const { description } = document.paths['/users'].post
  expect(description).toMatch(/POST \/users\/invite.*ADMIN_SETS_PASSWORDS/)
  const { password } = document.components.schemas.UserBody.properties
  expect(JSON.stringify(password)).toContain('Rejected with 422 unless the operator has set ADMIN_SETS_PASSWORDS')
})
