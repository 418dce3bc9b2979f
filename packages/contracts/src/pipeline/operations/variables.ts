import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { Variable, VariableBodies, VariableBody } from '../variable.ts'

const variable = {
  noun: 'variable',
  plural: 'variables',
  path: '/variables',
  see: ['ROLE_SEE_VARIABLE'],
  manage: ['ROLE_MANAGE_VARIABLE'],
  resource: Variable,
  body: VariableBody,
} as const

export const variableSignatures = {
  ...recordSignatures(variable),
  save: signature({
    id: 'variables.save',
    summary: 'Create or replace variables by name',
    description: 'All of them or none. Those that are not named stay as they are.',
    method: 'put',
    path: '/variables',
    guard: variable.manage,
    body: VariableBodies,
    response: listOf(Variable),
  }),
}
