import { expect, it } from '@jest/globals'
import { createContractChecker } from '@sluice/contracts'
import { openapi } from '@sluice/http-server'
import { operations } from '../src/api/operations.ts'
import { pipelineServiceInfo } from '../src/openapi-info.ts'

it('the reference names and describes every group of operations, and no other group', () => {
  for (const { name, description } of openapi(operations, pipelineServiceInfo).tags) {
    expect(name).toMatch(/^[A-Z][A-Za-z -]+$/)
    expect(description).toMatch(/^[A-Z].+\.$/)
  }
  const nouns = new Set(operations.map(({ signature }) => signature.id.split('.')[0]!))
  expect(Object.keys(pipelineServiceInfo.nouns ?? {}).toSorted()).toEqual([...nouns].toSorted())
})

it('the reference marks a request body as optional exactly if an empty body is valid', () => {
  const { paths } = openapi(operations, pipelineServiceInfo)
  for (const { signature } of operations) {
    if (!signature.body) continue
    const { requestBody } = paths[signature.path.replaceAll(/:(\w+)/g, '{$1}')][signature.method]
    expect([signature.id, requestBody.required]).toEqual([
      signature.id,
      'violations' in createContractChecker(signature.body)({}),
    ])
  }
})
