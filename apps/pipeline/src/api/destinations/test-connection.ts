import type { LookedUp, ResultEnvelope, TargetBody, TargetLookupBody } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import type { KeyRing } from '@sluice/database'
import { DestinationProblem } from '../../destinations/destination-problem.ts'
import type { TargetTestResult } from '../../destinations/destinations.ts'
import {
  type Target,
  baseUrl,
  unsealTargetSecrets,
  isSameTarget,
  createTarget,
} from '../../destinations/push-target.ts'
import { replaceTargetVariables } from '../../destinations/read-destination.ts'
import type { PipelineContext } from '../operation-context.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { createResultEnvelope } from '../result-envelope.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { type DestinationRow, destinationRecords } from './records.ts'
import { mergeSecrets } from '../merge-secrets.ts'
import { urlOf } from './write.ts'

type TestTargetRequest = OperationInput<PipelineContext, '/destinations/test-connection', undefined, TargetBody>
type TestDestinationRequest = OperationInput<
  PipelineContext,
  '/destinations/:uid/test-connection',
  undefined,
  TargetBody
>
type TargetLookupRequest = OperationInput<
  PipelineContext,
  '/destinations/:uid/lookups/:kind',
  undefined,
  TargetLookupBody
>
type TargetContext = Pick<TargetLookupRequest, 'destinations' | 'caller' | 'request' | 'db' | 'keyRing'>

/** The time limit of DHIS2, and the maximum number of look-up results. */
const targetTimeoutMs = 30_000
const maxLookupResults = 1_000

/** Tests a target that may not be saved yet. */
export const testTarget = (input: TestTargetRequest): Promise<ResultEnvelope> => runTest(input, parseTarget(input.body))

/** Tests the target of a destination. The caller must be allowed to change it, because the test uses its password. */
export async function testConnection(input: TestDestinationRequest): Promise<ResultEnvelope> {
  const row = await destinationRecords.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return runTest(input, mergeSavedTarget(input.body, row, input.keyRing))
}

/** Lists the choices that the target of a destination offers. */
export async function lookUpSaved(input: TargetLookupRequest): Promise<LookedUp[]> {
  const row = await destinationRecords.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return lookUpTarget(input, input.params.kind, mergeSavedTarget(input.body, row, input.keyRing), input.body.query)
}

/** Replaces variables in the secrets of a target, but not in its address and username. */
async function replaceSecretVariables(
  { db, caller, keyRing }: TargetContext,
  { password, authToken, ...target }: Target,
): Promise<Target> {
  return { ...target, ...(await replaceTargetVariables(db, caller.client, keyRing, { password, authToken })) }
}

/** Lists the choices that a DHIS2 server offers. Errors of the server are reported as 422. */
async function lookUpTarget(input: TargetContext, kind: string, sentTarget: Target, query = ''): Promise<LookedUp[]> {
  const target = await replaceSecretVariables(input, sentTarget)
  const onTimeout = () => {
    throw problems.refused('/', `DHIS2 did not answer within ${targetTimeoutMs / 1000} seconds. Try again later.`)
  }
  try {
    const choices = await runWhileConnected(slotOptions(input, onTimeout), (signal) =>
      input.destinations.lookup(kind, target, { query: query.trim(), limit: maxLookupResults }, signal),
    )
    if (!choices) throw problems.notFound('look-up')
    return choices
  } catch (error) {
    throw error instanceof DestinationProblem ? problems.refused('/', error.message) : error
  }
}

async function runTest(input: TargetContext, sentTarget: Target): Promise<ResultEnvelope> {
  const target = await replaceSecretVariables(input, sentTarget)
  const onTimeout = (): TargetTestResult => ({
    status: 'ERROR',
    code: 'CONNECTION_TIMEOUT',
    message: `DHIS2 did not answer within ${targetTimeoutMs / 1000} seconds. Try again later.`,
  })
  const {
    status,
    code: errorCode,
    message,
    cause,
    ...data
  } = await runWhileConnected(slotOptions(input, onTimeout), (signal) => input.destinations.test(target, signal))
  return createResultEnvelope({ area: 'destination', status, errorCode, message, cause, data })
}

const slotOptions = <T>({ caller, request }: Pick<TargetContext, 'caller' | 'request'>, onTimeout: () => T) => ({
  request,
  queue: requestSlots.targets.queueOf(caller.client),
  timeoutMs: targetTimeoutMs,
  onTimeout,
})

type SentTarget = Pick<TargetLookupBody, 'url' | 'username' | 'password' | 'authToken'>

/** Parses the target of a body. Throws 422 if it has both a token and a username or a password. */
function parseTarget({ url, username, password, authToken }: SentTarget & { url: string }): Target {
  assertAddress(url)
  assertOneSignIn({ username, password, authToken })
  return { url, username, password, authToken }
}

/**
 * Merges the target of a body into the saved one. The stored password or token is sent only to the address for which it
 * was entered.
 */
function mergeSavedTarget(sentTarget: SentTarget, row: DestinationRow, ring: KeyRing): Target {
  assertOneSignIn(sentTarget)
  const { settings } = row
  const url = sentTarget.url ?? urlOf(settings)
  assertAddress(url)
  const sendsToken = sentTarget.authToken !== undefined
  const sendsPassword = sentTarget.username !== undefined || sentTarget.password !== undefined
  const usesStoredToken = 'apiTokenTarget' in settings && !sendsPassword
  if (sendsToken || usesStoredToken) {
    const secrets = mergeTargetSecrets(url, { authToken: sentTarget.authToken }, row, ring)
    return createTarget({ apiTokenTarget: { url } }, secrets)
  }
  const storedUsername = 'apiTarget' in settings ? settings.apiTarget.username : undefined
  const secrets = mergeTargetSecrets(url, { password: sentTarget.password }, row, ring)
  return createTarget({ apiTarget: { url, username: sentTarget.username ?? storedUsername } }, secrets)
}

function mergeTargetSecrets(
  url: string,
  sentSecrets: Record<string, string | undefined>,
  row: DestinationRow,
  ring: KeyRing,
) {
  const [name] = Object.keys(sentSecrets)
  return mergeSecrets({
    stored: unsealTargetSecrets(row, ring),
    sentSecrets,
    addressChange: isSameTarget(urlOf(row.settings), url) ? undefined : `/${name}`,
  })
}

function assertAddress(url: string): void {
  if (!URL.canParse(baseUrl(url)))
    throw problems.refused(
      '/url',
      'This is not the address of a DHIS2 server. Write it like https://dhis2.example.org/dhis.',
    )
}

/** Throws 422 for a token with a username or a password. */
function assertOneSignIn({ username, password, authToken }: SentTarget): void {
  if (authToken !== undefined && (username !== undefined || password !== undefined))
    throw problems.refused('/authToken', 'Send either a token, or a username and a password, but not both.')
}
