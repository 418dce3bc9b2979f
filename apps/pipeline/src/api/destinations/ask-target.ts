import type { LookedUp, ResultEnvelope, TargetBody, TargetLookupBody } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import { DestinationProblem } from '../../engine/destinations/destination-problem.ts'
import type { Tested } from '../../engine/destinations/destinations.ts'
import type { Target } from '../../engine/destinations/target.ts'
import { withTargetValues } from '../../engine/destinations/destination-to-push.ts'
import type { PipelineContext } from '../operation.ts'
import { whileAsked } from '../data-pipelines/while-asked.ts'
import { resultEnvelope } from '../result-envelope.ts'
import { shares } from '../shares.ts'
import { destinations } from './records.ts'
import { targetSaved, targetTyped } from './target-asked.ts'

type Unsaved = Input<PipelineContext, '/destinations/test-connection', undefined, TargetBody>
type Saved = Input<PipelineContext, '/destinations/:uid/test-connection', undefined, TargetBody>
type Looking = Input<PipelineContext, '/destinations/:uid/lookups/:kind', undefined, TargetLookupBody>
type Asking = Pick<Looking, 'destinations' | 'caller' | 'request' | 'db' | 'keyRing'>

/** Milliseconds, and what fits on a page. */
const longest = 30_000
const mostAnswered = 1_000

/** Tries a target that may not be saved yet. */
export const testTarget = (input: Unsaved): Promise<ResultEnvelope> => test(input, targetTyped(input.body))

/** Tries a destination's target. Whoever may not change the destination does not set its password to work. */
export async function testConnection(input: Saved): Promise<ResultEnvelope> {
  const row = await destinations.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return test(input, targetSaved(input.body, row, input.keyRing))
}

/** What a destination's target has to choose from. */
export async function lookUpSaved(input: Looking): Promise<LookedUp[]> {
  const row = await destinations.readToWrite(input.db, input.caller, input.params.uid, undefined)
  return lookUpAt(input, input.params.kind, targetSaved(input.body, row, input.keyRing), input.body.query)
}

/** A target whose secrets have the values of variables; its address and username are as they were typed. */
async function secretsOf({ db, caller, keyRing }: Asking, { password, authToken, ...target }: Target): Promise<Target> {
  return { ...target, ...(await withTargetValues(db, caller.client, keyRing, { password, authToken })) }
}

/** What a DHIS2 has to choose from. What is wrong with it is the asker's to mend: 422. */
async function lookUpAt(input: Asking, kind: string, asked: Target, query = ''): Promise<LookedUp[]> {
  const target = await secretsOf(input, asked)
  const late = () => {
    throw problems.refused('/', `DHIS2 did not answer in full within ${longest / 1000} seconds.`)
  }
  try {
    const found = await whileAsked(turn(input, late), (signal) =>
      input.destinations.lookup(kind, target, { query: query.trim(), most: mostAnswered }, signal),
    )
    if (!found) throw problems.notFound('look-up')
    return found
  } catch (error) {
    throw error instanceof DestinationProblem ? problems.refused('/', error.message) : error
  }
}

async function test(input: Asking, asked: Target): Promise<ResultEnvelope> {
  const target = await secretsOf(input, asked)
  const late = (): Tested => ({
    status: 'ERROR',
    code: 'CONNECTION_TIMEOUT',
    message: `DHIS2 did not answer in full within ${longest / 1000} seconds.`,
  })
  const {
    status,
    code: errorCode,
    message,
    cause,
    ...data
  } = await whileAsked(turn(input, late), (signal) => input.destinations.test(target, signal))
  return resultEnvelope({ area: 'destination', status, errorCode, message, cause, data })
}

const turn = <T>({ caller, request }: Pick<Asking, 'caller' | 'request'>, late: () => T) => ({
  socket: request.stream.socket,
  queue: shares.targets.queueOf(caller.client),
  longest,
  late,
})
