import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import {
  Client,
  ClientBody,
  ClientSummary,
  DeletedClient,
  DeletedClientSummary,
  forOtherServices,
  identityOperations,
  pipelineOperations,
  ReferencedSchema,
  allRoles,
  SchemaBody,
  SessionClient,
  SessionUser,
  UserBody,
  UserGroupBody,
  UserGroupSummary,
  UserSummary,
  type OperationSignature,
} from '@sluice/contracts'
import {
  brokenContractRules,
  brokenEchoRules,
  brokenOperationRules,
  brokenModuleRules,
  echoesOf,
} from '../src/index.ts'

const signaturesOf = (service: Record<string, Record<string, OperationSignature>>) =>
  Object.values(service).flatMap((noun) => Object.values(noun))

describe.each([
  ['identity', signaturesOf(identityOperations)],
  ['pipeline', signaturesOf(pipelineOperations)],
])('the operations of the %s service', (_service, signatures) => {
  it('have bounded, titled contracts, and closed responses without secrets', () => {
    expect(brokenContractRules(signatures)).toEqual([])
  })

  it('answer what they take, and take back what they answer', () => {
    expect(brokenEchoRules(echoesOf(signatures))).toEqual([])
  })

  it('have ids, paths and effects as the house has them', () => {
    expect(brokenOperationRules(signatures)).toEqual([])
  })
})

/** Where a field that one operation takes is answered by others, to the other service above all. */
const elsewhere = [
  ...[Client, ClientSummary, DeletedClient, DeletedClientSummary, SessionClient].map((response) => ({
    body: ClientBody,
    response,
  })),
  ...[SessionUser, UserSummary].map((response) => ({ body: UserBody, response })),
  { body: UserGroupBody, response: UserGroupSummary },
  { body: SchemaBody, response: ReferencedSchema },
]

describe('what is answered in other places than the object itself', () => {
  it('takes every value that the body of the object takes', () => {
    const broken = brokenEchoRules(elsewhere).filter(
      (sentence) => sentence.includes(' refuses what ') && /Body takes/.test(sentence),
    )
    expect(broken).toEqual([])
  })
})

describe('the list of what is kept for other services', () => {
  it('has every role that guards no operation, and no other', () => {
    const guarding = [...signaturesOf(identityOperations), ...signaturesOf(pipelineOperations)].flatMap(({ guard }) =>
      Array.isArray(guard) ? (guard as string[]) : [],
    )
    const listed = forOtherServices.filter(({ kind }) => kind === 'role').map(({ name }) => name)
    expect(listed.toSorted()).toEqual(allRoles.filter((role) => !guarding.includes(role)).toSorted())
  })
})

describe('the modules', () => {
  it('import only what the table allows', () => {
    expect(brokenModuleRules(join(import.meta.dirname, '../../..'))).toEqual([])
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
    } as OperationSignature
    expect(brokenContractRules([signature])).toHaveLength(4)
  })

  it('find a response that refuses what the body takes, and a body that refuses what is answered', () => {
    const object = (title: string, code: object, more: object = {}) => ({
      title,
      type: 'object',
      properties: { code, ...more },
      required: ['code'],
    })
    const body = object('ThingBody', { type: 'string', maxLength: 25 }, { size: { enum: ['S'], readOnly: true } })
    const response = object(
      'Thing',
      { type: 'string', maxLength: 25, pattern: '^\\P{Cc}*$' },
      { size: { enum: ['S', 'L'] } },
    )
    const broken = brokenEchoRules([{ body, response }])
    expect(broken).toContainEqual('Thing/code refuses what ThingBody takes: "\\n"')
    expect(broken).toContainEqual('ThingBody/size refuses what Thing answers: "L"')
    expect(brokenEchoRules([{ body: response, response }])).toEqual([])
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
    } as OperationSignature
    expect(brokenOperationRules([signature, signature])).toHaveLength(4)
  })
})
