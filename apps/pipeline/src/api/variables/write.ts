import { randomUUID } from 'node:crypto'
import type { VariableBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { problems } from '@sluice/http'
import type { Writing } from '@sluice/records'
import { sealVariableValue } from '../../sealed-variables.ts'
import type { PipelineContext } from '../operation.ts'
import { assertUnused } from './in-use.ts'
import type { VariableRow } from './records.ts'

export const variableWriting: Writing<PipelineContext, VariableRow, VariableBody> = {
  async check() {},

  async columns(trx, body, current, { caller, keyRing }) {
    if (current && current.name !== body.name)
      await assertUnused(trx, current, {
        pointer: '/name',
        before: 'Make another variable of the new name, and let them use that one first.',
        keyRing,
        caller,
      })
    return variableColumns(body, current, caller.client, keyRing)
  },

  beforeDelete: (trx, row, { keyRing, caller }) =>
    assertUnused(trx, row, { pointer: '/', before: 'Take it out of them first.', keyRing, caller }),

  async afterDelete() {},
}

/** Throws the problem of a value that is missing, `at` where the body is. */
export function variableColumns(
  body: VariableBody,
  current: VariableRow | undefined,
  client: string,
  keyRing: KeyRing,
  at = '',
): object {
  const uid = current?.uid ?? randomUUID()
  const kept = body.value === undefined ? keptValue(current, body.secured, at) : undefined
  const value = body.value ?? kept?.value
  return {
    ...(current ? {} : { uid, client }),
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    secured: body.secured,
    value: body.secured ? null : value,
    sealed_value: body.secured ? (kept?.sealed ?? sealVariableValue(uid, value!, keyRing)) : null,
  }
}

function keptValue(current: VariableRow | undefined, secured: boolean, at: string) {
  if (!current) throw problems.malformed([{ pointer: `${at}/value`, detail: 'must be there: the variable is new' }])
  if (current.secured && !secured)
    throw problems.refused(
      `${at}/value`,
      'A secured value is never shown again: send the value along if it is to be a plain one.',
    )
  return current.secured ? { sealed: current.sealed_value! } : { value: current.value! }
}
