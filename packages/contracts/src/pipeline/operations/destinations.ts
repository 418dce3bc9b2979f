import { listOf } from '../../contract.ts'
import { ResultEnvelope } from '../../envelope.ts'
import { signature } from '../../operation.ts'
import { recordSignatures, sharingSignatures } from '../../record-signatures.ts'
import { Destination, DestinationBody, TargetBody, TargetLookupBody } from '../destination.ts'
import { LookedUp } from '../lookup.ts'
import { rejectedRowsSignature, runSignatures } from '../run-signatures.ts'

const destination = {
  noun: 'destination',
  plural: 'destinations',
  path: '/destinations',
  see: ['ROLE_SEE_DESTINATION'],
  manage: ['ROLE_MANAGE_DESTINATION'],
  resource: Destination,
  body: DestinationBody,
} as const

const { manage } = destination

export const destinationSignatures = {
  ...recordSignatures(destination),
  ...sharingSignatures(destination),
  ...runSignatures(destination),
  ...rejectedRowsSignature(destination, 'Values that the target did not take, where and why'),
  testTarget: signature({
    id: 'destinations.testTarget',
    summary: 'Try to reach a target, before anything is saved',
    description: 'What is wrong is an answer too: status ERROR, a code and a sentence.',
    method: 'post',
    path: '/destinations/test-connection',
    guard: manage,
    effect: 'read',
    body: TargetBody,
    response: ResultEnvelope,
  }),
  testConnection: signature({
    id: 'destinations.testConnection',
    summary: 'Try to reach the target of a destination',
    description:
      'An absent password or token means the stored one, as long as the address is the stored one. What is wrong is an answer too: status ERROR, a code and a sentence.',
    method: 'post',
    path: '/destinations/:uid/test-connection',
    guard: manage,
    effect: 'read',
    body: TargetBody,
    response: ResultEnvelope,
  }),
  lookup: signature({
    id: 'destinations.lookup',
    summary: 'What the target of a destination has to choose from',
    description:
      'The kinds are data-sets, data-elements, data-element-groups, organisation-units, organisation-unit-groups, organisation-unit-levels, category-option-combos, attributes, programs, program-stages, indicators and indicator-groups; a thousand at most, which `query` narrows. What is absent means what is saved, the stored password or token as long as the address is the stored one.',
    method: 'post',
    path: '/destinations/:uid/lookups/:kind',
    guard: manage,
    effect: 'read',
    body: TargetLookupBody,
    response: listOf(LookedUp),
  }),
}
