import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { Variable, VariableBodies, VariableBody } from '../variable.ts'

const variableResource = {
  noun: 'variable',
  plural: 'variables',
  path: '/variables',
  see: ['ROLE_SEE_VARIABLE'],
  manage: ['ROLE_MANAGE_VARIABLE'],
  resource: Variable,
  body: VariableBody,
} as const

export const variableSignatures = {
  ...defineRecordSignatures(variableResource),
  save: defineSignature({
    id: 'variables.save',
    summary: 'Create or replace variables by name',
    description: 'Saves all variables or none. Other variables stay unchanged.',
    method: 'put',
    path: '/variables',
    guard: variableResource.manage,
    body: VariableBodies,
    response: listOf(Variable),
  }),
}
