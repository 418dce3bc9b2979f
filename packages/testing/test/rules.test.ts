import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { identityOperations, pipelineOperations, type Signature } from '@sluice/contracts'
import { brokenContractRules, brokenOperationRules, brokenRoomRules } from '../src/index.ts'

const signaturesOf = (service: Record<string, Record<string, Signature>>) =>
  Object.values(service).flatMap((noun) => Object.values(noun))

describe.each([
  ['identity', signaturesOf(identityOperations)],
  ['pipeline', signaturesOf(pipelineOperations)],
])('the operations of the %s service', (_service, signatures) => {
  it('have bounded, titled contracts, and closed responses without secrets', () => {
    expect(brokenContractRules(signatures)).toEqual([])
  })

  it('have ids, paths and effects as the house has them', () => {
    expect(brokenOperationRules(signatures)).toEqual([])
  })
})

describe('the rooms', () => {
  it('import only what the table lets them', () => {
    expect(brokenRoomRules(join(import.meta.dirname, '../../..'))).toEqual([])
  })
})

describe('the rules themselves', () => {
  it('find an unbounded string or number, an open object and a secret in a response', () => {
    const signature = {
      id: 'things.read',
      summary: 'Read a thing',
      method: 'get',
      path: '/things/:uid',
      guard: 'anyone',
      effect: 'read',
      status: 200,
      response: {
        title: 'Thing',
        type: 'object',
        properties: { password: { type: 'string' }, size: { type: 'integer', minimum: 0 } },
      },
    } as Signature
    expect(brokenContractRules([signature])).toHaveLength(4)
  })

  it('find a repeated id and a writing GET', () => {
    const signature = {
      id: 'things.read',
      summary: 'Read a thing',
      method: 'get',
      path: '/things',
      guard: 'anyone',
      effect: 'write',
      status: 204,
    } as Signature
    expect(brokenOperationRules([signature, signature])).toHaveLength(4)
  })
})
