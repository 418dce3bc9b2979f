import { failpoint } from '@sluice/process'
import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import { createAmbiguousTableRefusal, combineRefusals, createOldRowsRefusal } from '../quality-checks/query-refusals.ts'
import { listGroupChecks, readRunVariables } from '../quality-checks/encrypted-run-variables.ts'
import { deleteCheckResults, insertCheckResult } from '../quality-checks/check-result-repository.ts'
import { qualityFailedCode, summarizeOutcomes } from '../quality-checks/save-check-group-run.ts'
import { type CheckOutcome, type CheckRunContext, type CheckToRun, runChecks } from '../quality-checks/run-checks.ts'
import type { Variables } from '../variables/variables.ts'
import type { PublishOptions, ReadyTable, Warehouse } from '@sluice/warehouses/warehouse'
import type { PipelineToLoad } from './read-pipeline-to-load.ts'
import { logOutcome, querySlotTimeout, queuedLimits } from './run-check-group.ts'
import type { RunAttempt, RunContext } from './run-handler.ts'

/**
 * Returns a function that runs the checks of the pipeline's quality gate before rows are published. It throws
 * `LoadProblem` with the code DATA_QUALITY_FAILED and the failed checks; the results are stored with the run. Returns
 * undefined if the pipeline has no quality gate.
 */
export function qualityGate(
  { db, keyRing, redaction }: RunContext,
  { claim, log }: RunAttempt,
  { qualityGroupId: groupId, schema }: PipelineToLoad,
  warehouse: Warehouse,
): PublishOptions['gate'] {
  if (groupId === null) return undefined
  return async (tables, signal) => {
    await deleteCheckResults(db, claim)
    const checks = await listGroupChecks(db, groupId)
    if (checks.length === 0) {
      log.write('WARN', 'MEDIUM', 'The check group has no checks: the rows are published unchecked. Add checks to it.')
      return
    }
    const variables = await readRunVariables(db, claim.client, keyRing)
    redaction.add(...variables.textsToRedact)
    const outcomes = await checkStagedRows(checks, variables, tables, signal)
    const { status, message } = summarizeOutcomes(outcomes)
    if (status !== 'OK')
      throw new LoadProblem(qualityFailedCode, `${message} The new rows are not published, and the old data stays.`)
  }

  /** Runs the checks on the staged rows, and stores and logs each outcome. */
  async function checkStagedRows(
    checks: readonly CheckToRun[],
    variables: Variables,
    tables: readonly ReadyTable[],
    signal: AbortSignal,
  ): Promise<CheckOutcome[]> {
    const otherSchemas = (await warehouse.catalog.listSchemas()).filter((name) => name !== schema)
    await using preview = await warehouse.loader.exposeStagedRows(tables, { run: claim.uid, attempt: claim.attempt })
    await failpoint('at-gate')
    const preferredSchemas = [preview.schema, schema]
    const checkContext: CheckRunContext = {
      warehouse,
      variables,
      schemas: [...preferredSchemas, ...otherSchemas],
      limits: queuedLimits,
      slotTimeoutSeconds: querySlotTimeout,
      refusal: combineRefusals(
        createOldRowsRefusal(preview, tables),
        createAmbiguousTableRefusal(warehouse, preferredSchemas.length),
      ),
      signal,
    }
    const outcomes: CheckOutcome[] = []
    for await (const outcome of runChecks(checks, checkContext)) {
      outcomes.push(outcome)
      await insertCheckResult(db, claim, outcomes.length, outcome)
      logOutcome(log, outcome)
    }
    return outcomes
  }
}
