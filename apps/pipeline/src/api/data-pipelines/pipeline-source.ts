import type { DataPipelineBody, SourceBody } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type Caller, type OperationInput, Problem, problems } from '@sluice/http-server'
import {
  sealSourceSecrets,
  type SecretAddress,
  type SecretsWithAddress,
  unsealSource,
} from '../../secrets/encrypted-secrets.ts'
import { mergeSecretTimes } from '../../secrets/secret-status.ts'
import { createSecretAddress, isSameAddress } from '../../variables/assert-secret-address.ts'
import { selectSentSecrets, mergeSecrets } from '../merge-secrets.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import type { SentSecrets } from '@sluice/connectors/settings/connector-definition'
import { type AnyDefinition, getDefinition } from '@sluice/connectors/registry/connector-definitions'
import type { ReadRequest } from '@sluice/connectors/connector'
import type { PipelineContext } from '../operation-context.ts'
import { namesVariables } from '../../variables/replace-variables.ts'
import { fillVariables } from '../../variables/resolve-source-variables.ts'
import { readVariables } from '../../variables/variables.ts'
import { createRedactor } from '../../quality-checks/redact-variables.ts'
import { throwIfSourceProblem, translateDatabaseError } from '../../problems/map-database-errors.ts'

/**
 * Returns the columns of a source: its settings in plain text, its secrets encrypted together with the address for
 * which they were entered, and the time at which each secret was sent. Calls `loadVariables` only if the source has
 * secrets and its address has variables.
 */
export async function toSourceColumns(
  body: DataPipelineBody,
  uid: string,
  current: DataPipelineRow | undefined,
  ring: KeyRing,
  loadVariables: () => Promise<ReadonlyMap<string, string>>,
): Promise<{ settings: string; source_secrets: string | null; secret_times: string }> {
  const definition = getDefinition(body.type)
  const settings = definition.getSettings(body)
  const sentSecrets = definition.getSecrets?.(body) ?? {}
  const omitsSecret = Object.values(sentSecrets).includes(undefined)
  const rowWithOmittedSecrets = omitsSecret ? current : undefined
  const sendsSecret = Object.values(sentSecrets).some((value) => typeof value === 'string')
  const willHaveSecrets = sendsSecret || rowWithOmittedSecrets?.source_secrets != null
  const newAddress = willHaveSecrets
    ? await createSecretAddress(definition.secretAudience?.getValue(settings), loadVariables)
    : undefined
  const { secrets } = rowWithOmittedSecrets
    ? mergeSourceSecrets(definition, rowWithOmittedSecrets, settings, sentSecrets, ring, { newAddress })
    : { secrets: selectSentSecrets(sentSecrets) }
  definition.assertSecrets?.(settings, secrets)
  return {
    settings: JSON.stringify(settings),
    source_secrets: sealSourceSecrets(uid, secrets, ring, newAddress),
    secret_times: JSON.stringify(mergeSecretTimes(secrets, sentSecrets, current?.secret_times)),
  }
}

interface AddressChange {
  /** The JSON pointer of the address field, if the body is not that of a pipeline. */
  pointer?: string | undefined
  /** The address that will be stored with the secrets, if it changes. */
  newAddress?: SecretAddress | undefined
}

/**
 * Returns the sent secrets, and the stored ones for those that were omitted (undefined in `sentSecrets`). Throws 422
 * for omitted secrets if the address changes, because they would be sent to another server. If a stored secret is used
 * and its address contains variables, the result has `secretAddress`: the address with their values when the secret was
 * entered.
 */
export function mergeSourceSecrets(
  definition: AnyDefinition,
  stored: Pick<DataPipelineRow, 'uid' | 'settings' | 'source_secrets'>,
  settings: object,
  sentSecrets: SentSecrets,
  ring: KeyRing,
  { pointer, newAddress }: AddressChange = {},
): SecretsWithAddress {
  const { secrets: storedSecrets, secretAddress } = unsealSource(stored, ring)
  const keptSecret = Object.keys(sentSecrets).find((name) => sentSecrets[name] === undefined && name in storedSecrets)
  const isAddressChanged = changesAddress(definition, stored.settings as object, settings)
  const isValueOfVariableChanged =
    newAddress !== undefined && secretAddress !== undefined && !isSameAddress(secretAddress, newAddress)
  const pointerOfKeptSecret = pointer ?? `${definition.secretAudience?.pointer}/${keptSecret}`
  const addressChange = isAddressChanged || isValueOfVariableChanged ? pointerOfKeptSecret : undefined
  const secrets = mergeSecrets({ stored: storedSecrets, sentSecrets, addressChange })
  return { secrets, secretAddress: keptSecret === undefined ? undefined : secretAddress }
}

/**
 * Returns whether the address, with its variables not replaced, differs from the one for which the secrets were
 * entered.
 */
const changesAddress = ({ secretAudience }: AnyDefinition, before: object, after: object): boolean =>
  secretAudience !== undefined &&
  JSON.stringify(secretAudience.getValue(before)) !== JSON.stringify(secretAudience.getValue(after))

/** A source to read, and the address to which its stored secrets may be sent. */
export type RequestedSource = ReadRequest & SecretsWithAddress

type SourceRequest = OperationInput<PipelineContext, '/data-pipelines/preview', undefined, SourceBody>

/**
 * Returns the source in a request body. If the body has the id of a pipeline that the caller may change, the source
 * uses the pipeline's file and stored secrets. The secrets are used only if the address is the one for which they were
 * entered.
 */
export async function readRequestedSource({ db, caller, body, keyRing }: SourceRequest): Promise<RequestedSource> {
  const definition = getDefinition(body.type)
  const stored = body.id === undefined ? undefined : await dataPipelines.readToWrite(db, caller, body.id, undefined)
  if (stored && stored.type !== body.type)
    throw problems.refused('/type', `This pipeline has the type ${stored.type}. Send this type, or leave out id.`)
  const settings = definition.getSettings(body)
  const sentSecrets = definition.getSecrets?.(body) ?? {}
  const mergedSecrets = stored
    ? mergeSourceSecrets(definition, stored, settings, sentSecrets, keyRing)
    : { secrets: selectSentSecrets(sentSecrets) }
  definition.assertSecrets?.(settings, mergedSecrets.secrets)
  return { type: body.type, settings, ...mergedSecrets, input: await readInput(db, stored) }
}

/** Returns the saved source of a pipeline. */
export async function readSavedSource(
  { db, keyRing }: Pick<PipelineContext, 'db' | 'keyRing'>,
  row: DataPipelineRow,
): Promise<RequestedSource> {
  const { type, settings } = row
  return { type, settings, ...unsealSource(row, keyRing), input: await readInput(db, row) }
}

async function readInput(db: PipelineContext['db'], row: DataPipelineRow | undefined): Promise<object> {
  if (!row || !getDefinition(row.type).upload) return {}
  const file = await db
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size'])
    .where('pipeline_id', '=', row.id)
    .executeTakeFirst()
  return { file }
}

/** Redacts the values of secured variables: in messages (`sentence`), and in the data of a source (`text`, `cell`). */
type SourceRedactor = ReturnType<typeof createRedactor> & { sentence(message: string): string }

type VariableContext = Pick<PipelineContext, 'db' | 'keyRing'> & { caller: Caller }

/**
 * Runs `callback` with the variables in the settings and secrets of a source replaced by their values. The source may
 * repeat these values: `redact` removes secured ones, and thrown errors are already redacted. Throws `VariableProblem`
 * without running `callback` if stored secrets would be sent to an address other than the one for which they were
 * entered.
 */
export async function withVariables<T>(
  { db, keyRing, caller }: VariableContext,
  { secretAddress, ...reading }: RequestedSource,
  callback: (reading: ReadRequest, redact: SourceRedactor) => Promise<T>,
): Promise<T> {
  const { type, settings, secrets } = reading
  if (!namesVariables(settings, secrets))
    return callback(reading, { ...createRedactor([]), sentence: (message) => message })
  const variables = await readVariables(db, caller.client, keyRing)
  const redactSentence = (message: string) => variables.hideIn(message)
  const filledSource = fillVariables({ type, settings, secrets, secretAddress }, variables)
  try {
    return await callback(
      { ...reading, ...filledSource },
      { ...createRedactor(variables.securedValues), sentence: redactSentence },
    )
  } catch (error) {
    throwRedacted(error, redactSentence)
  }
}

/**
 * Throws a problem of a source or database with a redacted message, and other errors unchanged. The new error has no
 * cause, because the errors of drivers can contain the values of variables. It keeps the code of the problem, which the
 * check of an upload reads.
 */
function throwRedacted(error: unknown, redactSentence: (message: string) => string): never {
  throwIfSourceProblem(error, redactSentence)
  const problem = translateDatabaseError(error)
  if (!problem) throw error
  const { status, code, title, headers, message } = problem
  throw new Problem(status, code, title, { detail: redactSentence(message), headers })
}
