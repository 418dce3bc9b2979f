import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import {
  Client,
  ClientBody,
  ClientSummary,
  DeletedClient,
  DeletedClientSummary,
  featuresOfOtherServices,
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

  it('have responses that accept all values of their bodies, and bodies that accept all values of their responses', () => {
    expect(brokenEchoRules(echoesOf(signatures))).toEqual([])
  })

  it('have ids, paths and effects that follow the rules of the project', () => {
    expect(brokenOperationRules(signatures)).toEqual([])
  })
})

/** Responses of other operations, often for the other service, with properties of a body. */
const otherResponses = [
  ...[Client, ClientSummary, DeletedClient, DeletedClientSummary, SessionClient].map((response) => ({
    body: ClientBody,
    response,
  })),
  ...[SessionUser, UserSummary].map((response) => ({ body: UserBody, response })),
  { body: UserGroupBody, response: UserGroupSummary },
  { body: SchemaBody, response: ReferencedSchema },
]

describe('a response of another operation with properties of a body', () => {
  it('accepts every value that the body accepts', () => {
    const broken = brokenEchoRules(otherResponses).filter((sentence) => /rejects a value of \w+Body:/.test(sentence))
    expect(broken).toEqual([])
  })
})

describe('the list of roles for other services', () => {
  it('contains exactly the roles that guard no operation', () => {
    const guarding = [...signaturesOf(identityOperations), ...signaturesOf(pipelineOperations)].flatMap(({ guard }) =>
      Array.isArray(guard) ? (guard as string[]) : [],
    )
    const listed = featuresOfOtherServices.filter(({ kind }) => kind === 'role').map(({ name }) => name)
    expect(listed.toSorted()).toEqual(allRoles.filter((role) => !guarding.includes(role)).toSorted())
  })
})

describe('the modules', () => {
  it('import only the packages that docs/architecture.md allows', () => {
    expect(brokenModuleRules(join(import.meta.dirname, '../../..'))).toEqual([])
  })
})

describe('the rules for contracts and operations', () => {
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

  it('find a response that refuses a value of the body, and a body that refuses a value of the response', () => {
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
    expect(broken).toContainEqual('Thing/code rejects a value of ThingBody: "\\n"')
    expect(broken).toContainEqual('ThingBody/size rejects a value of Thing: "L"')
    expect(brokenEchoRules([{ body: response, response }])).toEqual([])
  })

  it('find a repeated id and a GET operation with the effect write', () => {
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
