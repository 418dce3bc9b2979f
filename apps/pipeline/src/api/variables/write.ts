import { randomUUID } from 'node:crypto'
import type { Variable, VariableBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type OperationInput, problems } from '@sluice/http-server'
import type { RecordWriter } from '@sluice/records'
import { sealVariableValue } from '../../secrets/encrypted-secrets.ts'
import { type SecretTimes, mergeSecretTimes } from '../../secrets/secret-status.ts'
import type { PipelineContext } from '../operation-context.ts'
import { assertVariableUnused } from './assert-variable-unused.ts'
import { type VariableRow, variableRecords } from './records.ts'
import { findRepeatedNames, type BulkSaveDefinition, saveList } from '../bulk-saves/save-by-name.ts'

export const variableWriting: RecordWriter<PipelineContext, VariableRow, VariableBody> = {
  async check() {},

  async columns(trx, body, current, { caller, keyRing }) {
    if (current && current.name !== body.name)
      await assertVariableUnused(trx, current, {
        pointer: '/name',
        advice: 'Create a variable with the new name, and replace the old name there first.',
        keyRing,
        caller,
      })
    return toVariableColumns(body, current, caller.client, keyRing)
  },

  beforeDelete: (trx, row, { keyRing, caller }) =>
    assertVariableUnused(trx, row, {
      pointer: '/',
      advice: 'Remove the variable from these objects first.',
      keyRing,
      caller,
    }),

  async afterDelete() {},
}

export const variableBulkSave: BulkSaveDefinition<VariableRow, VariableBody> = {
  records: variableRecords,
  writing: variableWriting,
}

/**
 * A variable in a configuration document. A new variable may lack its value, because an export of another installation
 * omits secured values.
 */
export type ConfiguredVariable = VariableBody & { mayLackValue?: boolean }

/**
 * Returns the columns of a variable. A secured variable has an encrypted value (`sealed`), any other a plain one. If
 * the body omits the value, keeps the stored one. Throws if there is neither.
 */
function toVariableColumns(
  body: ConfiguredVariable,
  current: VariableRow | undefined,
  client: string,
  keyRing: KeyRing,
): object {
  const uid = current?.uid ?? randomUUID()
  const value = body.value === undefined ? readStoredValue(current, body) : { plain: body.value }
  const sealed = body.secured ? sealIfPlain(uid, value, keyRing) : null
  return {
    ...(current ? {} : { uid, client }),
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    secured: body.secured,
    value: body.secured ? null : value.plain,
    sealed_value: sealed,
    secret_times: body.secured ? JSON.stringify(mergeVariableTimes(body, sealed, current)) : null,
  }
}

/**
 * Returns the times at which secured values were sent. A value that becomes secured has none, because it was stored in
 * plain text before.
 */
const mergeVariableTimes = (
  { value }: VariableBody,
  sealed: string | null,
  current: VariableRow | undefined,
): SecretTimes => mergeSecretTimes(sealed === null ? {} : { value: '' }, { value }, current?.secret_times)

/** A value in plain text, or the encrypted value of a secured variable, which is null while it has no value. */
type VariableValue = { plain: string; sealed?: never } | { plain?: never; sealed: string | null }

const sealIfPlain = (uid: string, { plain, sealed }: VariableValue, keyRing: KeyRing): string | null =>
  plain === undefined ? sealed : sealVariableValue(uid, plain, keyRing)

/**
 * Returns the stored value of a variable whose body omits it. A new secured variable of a configuration may have no
 * value yet. Throws a problem for any other new variable, and for a secured variable that becomes unsecured.
 */
function readStoredValue(
  current: VariableRow | undefined,
  { secured, mayLackValue = false }: ConfiguredVariable,
): VariableValue {
  if (!current && secured && mayLackValue) return { sealed: null }
  if (!current) throw problems.malformed([{ pointer: '/value', detail: 'is required for a new variable' }])
  if (current.secured && !secured)
    throw problems.refused(
      '/value',
      'A secured value cannot be revealed. To make the variable unsecured, enter its value again.',
    )
  return current.secured ? { sealed: current.sealed_value } : { plain: current.value! }
}

/** Creates or replaces several variables by name in one transaction. Returns them in the order of the request. */
export async function saveVariables(
  input: OperationInput<PipelineContext, '/variables', undefined, VariableBody[]>,
): Promise<Variable[]> {
  for (const [index, name] of findRepeatedNames(input.body))
    throw problems.conflict(`/${index}/name`, `"${name}" is in the list twice. Remove one of them.`)
  return variableRecords.present(await saveList(variableBulkSave, input), input)
}
