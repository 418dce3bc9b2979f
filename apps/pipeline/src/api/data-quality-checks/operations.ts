import { type CheckResult, type RunInput, pipelineOperations } from '@sluice/contracts'
import { recordOperations, createSharingOperations } from '@sluice/records'
import type { OperationInput } from '@sluice/http-server'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { assertSharingTargets } from '../object-access.ts'
import { dataQualityChecks } from './records.ts'
import { checkBulkSave, checkWriting } from './write.ts'
import { createAmbiguousTableRefusal } from '../../quality-checks/query-refusals.ts'
import { type CheckOutcome, runCheck, checkNotRun } from '../../quality-checks/run-checks.ts'
import { readRunVariables } from '../../quality-checks/encrypted-run-variables.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { presentOutcome } from '../data-quality/check-results.ts'
import { assertKnownVariables } from '../data-quality/assert-known-variables.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'

const checkLimits = { rows: 1_000, bytes: 4 * 1024 * 1024, seconds: 30 }

/** Timeout of a check in milliseconds, including the wait for the warehouse and the count of all violations. */
const checkTimeoutMs = 60_000

/** Runs a single check within the request. */
async function runOneCheck(
  input: OperationInput<PipelineContext, '/data-quality-checks/:uid/run', undefined, RunInput>,
): Promise<CheckResult> {
  const { db, caller, params, body, warehouses, keyRing, request } = input
  const { uid, name, query, client } = await dataQualityChecks.read(db, caller, params.uid)
  const check = { uid, name, query }
  await assertKnownVariables(db, client, [check], body.variables)
  const [variables, warehouse] = await Promise.all([
    readRunVariables(db, client, keyRing, body.variables),
    warehouses.find(client),
  ])
  const onTimeout = (): CheckOutcome =>
    checkNotRun(check, `The check took longer than ${checkTimeoutMs / 1_000} seconds. Add a filter to its query.`)
  const outcome = await runWhileConnected(
    { request, queue: requestSlots.checks.queueOf(client), timeoutMs: checkTimeoutMs, onTimeout },
    async (signal) => {
      const schemas = (await warehouse?.catalog.listSchemas()) ?? []
      const refusal = createAmbiguousTableRefusal(warehouse)
      return runCheck(check, { warehouse, variables, schemas, limits: checkLimits, refusal, signal })
    },
  )
  return presentOutcome(outcome, true)
}

const checkResource = { operation: definePipelineOperation, records: dataQualityChecks, writing: checkWriting }
const { dataQualityChecks: signatures } = pipelineOperations

export const dataQualityCheckOperations = {
  ...recordOperations(signatures, checkResource),
  saveMany: saveManyOperation(signatures.saveMany, checkBulkSave),
  ...createSharingOperations(signatures, checkResource, assertSharingTargets),
  ...createLineageOperation(signatures, { kind: 'DATA_QUALITY_CHECK', records: dataQualityChecks }),
  run: definePipelineOperation(signatures.run, runOneCheck),
}
