import type { LookedUp, ResultEnvelope, TargetBody, TargetLookupBody } from '@sluice/contracts'
import { type Input, problems } from '@sluice/http'
import { DestinationProblem } from '../../engine/destinations/destination-problem.ts'
import type { Tested } from '../../engine/destinations/destinations.ts'
import { type Target, baseUrl, openTargetSecrets, sameAddress, targetOf } from '../../engine/destinations/target.ts'
import { withTargetValues } from '../../engine/destinations/target-values.ts'
import type { PipelineContext } from '../operation.ts'
import { whileConnected } from '../data-pipelines/while-connected.ts'
import { resultEnvelope } from '../result-envelope.ts'
import { shares } from '../shares.ts'
import { type DestinationRow, destinations } from './records.ts'
import type { KeyRing } from '@sluice/database'
import { mergeSecrets } from '../merge-secrets.ts'
import { urlOf } from './write.ts'

type TestTargetRequest = Input<PipelineContext, '/destinations/test-connection', undefined, TargetBody>
type TestDestinationRequest = Input<PipelineContext, '/destinations/:uid/test-connection', undefined, TargetBody>
type TargetLookupRequest = Input<PipelineContext, '/destinations/:uid/lookups/:kind', undefined, TargetLookupBody>
type TargetContext = Pick<TargetLookupRequest, 'destinations' | 'caller' | 'request' | 'db' | 'keyRing'>

/** Milliseconds, and what fits on a page. */
const targetTimeoutMs = 30_000
const maxLookupResults = 1_000

/** Tries a target that may not be saved yet. */
export const testTarget = (input: TestTargetRequest): Promise<ResultEnvelope> => test(input, parseTarget(input.body))

/** Tries a destination's target. Whoever may not change the destination does not set its password to work. */
export async function testConnection(input: TestDestinationRequest): Promise<ResultEnvelope> {
  const row = await destinations.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return test(input, mergeSavedTarget(input.body, row, input.keyRing))
}

/** What a destination's target has to choose from. */
export async function lookUpSaved(input: TargetLookupRequest): Promise<LookedUp[]> {
  const row = await destinations.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return lookUpAt(input, input.params.kind, mergeSavedTarget(input.body, row, input.keyRing), input.body.query)
}

/** A target whose secrets have the values of variables; its address and username are as they were typed. */
async function secretsOf(
  { db, caller, keyRing }: TargetContext,
  { password, authToken, ...target }: Target,
): Promise<Target> {
  return { ...target, ...(await withTargetValues(db, caller.client, keyRing, { password, authToken })) }
}

/** What a DHIS2 has to choose from. What is wrong with it is the asker's to mend: 422. */
async function lookUpAt(input: TargetContext, kind: string, asked: Target, query = ''): Promise<LookedUp[]> {
  const target = await secretsOf(input, asked)
  const late = () => {
    throw problems.refused('/', `DHIS2 did not answer in full within ${targetTimeoutMs / 1000} seconds.`)
  }
  try {
    const found = await whileConnected(turn(input, late), (signal) =>
      input.destinations.lookup(kind, target, { query: query.trim(), most: maxLookupResults }, signal),
    )
    if (!found) throw problems.notFound('look-up')
    return found
  } catch (error) {
    throw error instanceof DestinationProblem ? problems.refused('/', error.message) : error
  }
}

async function test(input: TargetContext, asked: Target): Promise<ResultEnvelope> {
  const target = await secretsOf(input, asked)
  const late = (): Tested => ({
    status: 'ERROR',
    code: 'CONNECTION_TIMEOUT',
    message: `DHIS2 did not answer in full within ${targetTimeoutMs / 1000} seconds.`,
  })
  const {
    status,
    code: errorCode,
    message,
    cause,
    ...data
  } = await whileConnected(turn(input, late), (signal) => input.destinations.test(target, signal))
  return resultEnvelope({ area: 'destination', status, errorCode, message, cause, data })
}

const turn = <T>({ caller, request }: Pick<TargetContext, 'caller' | 'request'>, late: () => T) => ({
  socket: request.stream.socket,
  queue: shares.targets.queueOf(caller.client),
  longest: targetTimeoutMs,
  late,
})

type GivenTarget = Pick<TargetLookupBody, 'url' | 'username' | 'password' | 'authToken'>

/** A target as it was typed. Throws a problem for two ways of signing in at once. */
function parseTarget({ url, username, password, authToken }: GivenTarget & { url: string }): Target {
  assertAddress(url)
  assertOneSignIn({ username, password, authToken })
  return { url, username, password, authToken }
}

/**
 * A destination's target, with what was typed in the place of what is saved. The stored password or token goes only to the
 * address that it was given for.
 */
function mergeSavedTarget(asked: GivenTarget, row: DestinationRow, ring: KeyRing): Target {
  assertOneSignIn(asked)
  const { settings } = row
  const url = asked.url ?? urlOf(settings)
  assertAddress(url)
  const byToken = asked.authToken !== undefined || (asked.username === undefined && asked.password === undefined)
  if (byToken && (asked.authToken !== undefined || 'apiTokenTarget' in settings)) {
    const secrets = mergeTargetSecrets(url, { authToken: asked.authToken }, row, ring)
    return targetOf({ apiTokenTarget: { url } }, secrets)
  }
  const stored = 'apiTarget' in settings ? settings.apiTarget.username : undefined
  const secrets = mergeTargetSecrets(url, { password: asked.password }, row, ring)
  return targetOf({ apiTarget: { url, username: asked.username ?? stored } }, secrets)
}

function mergeTargetSecrets(
  url: string,
  given: Record<string, string | undefined>,
  row: DestinationRow,
  ring: KeyRing,
) {
  const [name] = Object.keys(given)
  return mergeSecrets({
    stored: openTargetSecrets(row, ring),
    given,
    moved: sameAddress(urlOf(row.settings), url) ? undefined : `/${name}`,
  })
}

function assertAddress(url: string): void {
  if (!URL.canParse(baseUrl(url)))
    throw problems.refused(
      '/url',
      'This is not the address of a DHIS2 server. Write it like https://dhis2.example.org/dhis.',
    )
}

/** Refuses, by a problem, a token beside a username or a password. */
function assertOneSignIn({ username, password, authToken }: GivenTarget): void {
  if (authToken !== undefined && (username !== undefined || password !== undefined))
    throw problems.refused('/authToken', 'Either a token or a username and a password: leave one of them out.')
}
