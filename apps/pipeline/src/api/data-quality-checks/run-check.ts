import type { CheckResult, RunInput } from '@sluice/contracts'
import type { Input } from '@sluice/http'
import { type CheckOutcome, runCheck } from '../../engine/quality/run-checks.ts'
import { valuesFor } from '../../engine/quality/values.ts'
import { whileAsked } from '../data-pipelines/while-asked.ts'
import { checking } from '../data-quality/checking-queue.ts'
import { presentOutcome } from '../data-quality/present-results.ts'
import type { PipelineContext } from '../operation.ts'
import { dataQualityChecks } from './records.ts'

const limits = { rows: 1_000, bytes: 4 * 1024 * 1024, seconds: 30 }

/** Milliseconds, the waiting for the warehouse and the counting included. */
const longest = 60_000

/** Runs a check while somebody waits for what it finds. */
export async function runOneCheck(
  input: Input<PipelineContext, '/data-quality-checks/:uid/run', undefined, RunInput>,
): Promise<CheckResult> {
  const { db, caller, params, body, warehouses, keyRing, request } = input
  const { uid, name, query, client } = await dataQualityChecks.read(db, caller, params.uid)
  const check = { uid, name, query }
  const [variables, warehouse] = await Promise.all([
    valuesFor(db, client, keyRing, body.variables),
    warehouses.find(client),
  ])
  const late = (): CheckOutcome => ({
    check,
    status: 'ERROR',
    message: `The check took longer than ${longest / 1_000} seconds and was stopped.`,
    completedAt: new Date(),
  })
  const outcome = await whileAsked(
    { socket: request.stream.socket, queue: (work) => checking(client, work), longest, late },
    async (signal) => {
      const schemas = (await warehouse?.schemas()) ?? []
      return runCheck(check, { warehouse, variables, schemas, limits, signal })
    },
  )
  return presentOutcome(outcome, true)
}
