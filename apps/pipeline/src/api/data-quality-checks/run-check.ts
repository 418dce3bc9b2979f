import type { CheckResult, RunInput } from '@sluice/contracts'
import type { Input } from '@sluice/http'
import { ambiguousRefused } from '../../engine/quality/check-refusals.ts'
import { type CheckOutcome, runCheck, unfit } from '../../engine/quality/run-checks.ts'
import { valuesFor } from '../../engine/quality/check-inputs.ts'
import { whileAsked } from '../data-pipelines/while-asked.ts'
import { shares } from '../shares.ts'
import { presentOutcome } from '../data-quality/present-results.ts'
import { demandKnownVariables } from '../data-quality/run-variables.ts'
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
  await demandKnownVariables(db, client, [check], body.variables)
  const [variables, warehouse] = await Promise.all([
    valuesFor(db, client, keyRing, body.variables),
    warehouses.find(client),
  ])
  const late = (): CheckOutcome =>
    unfit(check, `The check took longer than ${longest / 1_000} seconds and was stopped.`)
  const outcome = await whileAsked(
    { socket: request.stream.socket, queue: shares.checks.queueOf(client), longest, late },
    async (signal) => {
      const schemas = (await warehouse?.schemas()) ?? []
      const refusal = ambiguousRefused(warehouse)
      return runCheck(check, { warehouse, variables, schemas, limits, refusal, signal })
    },
  )
  return presentOutcome(outcome, true)
}
