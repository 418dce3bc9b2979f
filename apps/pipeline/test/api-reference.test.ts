import { expect, it } from '@jest/globals'
import { checker } from '@sluice/contracts'
import { openapi } from '@sluice/http-server'
import { operations } from '../src/api/operations.ts'
import { info } from '../src/openapi-info.ts'

it('the reference names and describes every group of operations, and no other group', () => {
  for (const { name, description } of openapi(operations, info).tags) {
    expect(name).toMatch(/^[A-Z][A-Za-z -]+$/)
    expect(description).toMatch(/^[A-Z].+\.$/)
  }
  const nouns = new Set(operations.map(({ signature }) => signature.id.split('.')[0]!))
  expect(Object.keys(info.nouns ?? {}).toSorted()).toEqual([...nouns].toSorted())
})

it('the reference marks a request body as optional exactly if an empty body is valid', () => {
  const { paths } = openapi(operations, info)
  for (const { signature } of operations) {
    if (!signature.body) continue
    const { requestBody } = paths[signature.path.replaceAll(/:(\w+)/g, '{$1}')][signature.method]
    expect([signature.id, requestBody.required]).toEqual([signature.id, 'violations' in checker(signature.body)({})])
  }
})
