import { listOf } from '../../contract.ts'
import { ResultEnvelope } from '../../result-envelope.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { Destination, DestinationBody, TargetBody, TargetLookupBody } from '../destination.ts'
import { LookedUp } from '../source-lookup.ts'
import { defineLineageSignature } from '../lineage.ts'
import { defineRejectedRowsSignature, defineRunSignatures } from '../run-operation-signatures.ts'

const destinationResource = {
  noun: 'destination',
  plural: 'destinations',
  path: '/destinations',
  see: ['ROLE_SEE_DESTINATION'],
  manage: ['ROLE_MANAGE_DESTINATION'],
  resource: Destination,
  body: DestinationBody,
} as const

const { manage } = destinationResource

export const destinationSignatures = {
  ...defineBulkSignature(destinationResource),
  ...defineRecordSignatures(destinationResource),
  ...defineSharingSignature(destinationResource),
  ...defineLineageSignature(destinationResource),
  ...defineRunSignatures(destinationResource),
  ...defineRejectedRowsSignature(
    destinationResource,
    'List the rejected values of a run, with their positions and the reasons',
  ),
  testTarget: defineSignature({
    id: 'destinations.testTarget',
    summary: 'Test the connection to a target before it is saved',
    description: 'A failed test returns status 200 with `status` ERROR, a code and a message.',
    method: 'post',
    path: '/destinations/test-connection',
    guard: manage,
    effect: 'read',
    body: TargetBody,
    response: ResultEnvelope,
  }),
  testConnection: defineSignature({
    id: 'destinations.testConnection',
    summary: 'Test the connection to the target of a destination',
    description:
      'An absent password or token has the stored value if the address is the stored one. A failed test returns status 200 with `status` ERROR, a code and a message.',
    method: 'post',
    path: '/destinations/:uid/test-connection',
    guard: manage,
    effect: 'read',
    body: TargetBody,
    response: ResultEnvelope,
  }),
  lookup: defineSignature({
    id: 'destinations.lookup',
    summary: 'List the options of the target of a destination',
    description:
      'The kinds are data-sets, data-elements, data-element-groups, organisation-units, organisation-unit-groups, organisation-unit-levels, category-option-combos, attributes, programs, program-stages, indicators and indicator-groups. The response has at most 1,000 items; use `query` to narrow them. Absent fields have the stored values. The stored password or token is only used if the address is the stored one.',
    method: 'post',
    path: '/destinations/:uid/lookups/:kind',
    guard: manage,
    effect: 'read',
    body: TargetLookupBody,
    response: listOf(LookedUp),
  }),
}
