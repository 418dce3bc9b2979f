import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import { createAmbiguousTableRefusal } from '../quality-checks/query-refusals.ts'
import { listGroupChecks, readSealedVariables, readRunVariables } from '../quality-checks/encrypted-run-variables.ts'
import { deleteCheckResults, insertCheckResult } from '../quality-checks/check-result-repository.ts'
import { qualityFailedCode, summarizeOutcomes } from '../quality-checks/save-check-group-run.ts'
import { type CheckOutcome, runChecks } from '../quality-checks/run-checks.ts'
import type { RunLog } from '../runs/run-log.ts'
import type { RunAttempt, RunSuccess, RunHandler, RunContext } from './run-handler.ts'

export const queuedLimits = { rows: 100, bytes: 1024 * 1024, seconds: 1_800 }

/** Seconds for which a check waits for a free query slot of the warehouse. After that, the run is requeued. */
export const querySlotTimeout = 3_600

/**
 * Runs the checks of a group one after another. If a check finds violations, the run becomes FAILED, so that a workflow
 * stops.
 */
async function runCheckGroup(
  { db, keyRing, redaction, warehouses }: RunContext,
  { claim, log, signal }: RunAttempt,
): Promise<RunSuccess> {
  const { client, subject } = claim
  await deleteCheckResults(db, claim)
  const checks = await listGroupChecks(db, subject.id)
  const variables = await readRunVariables(db, client, keyRing, await readSealedVariables(db, claim, keyRing))
  redaction.add(...variables.textsToRedact)
  const warehouse = await warehouses.find(client)
  const schemas = (await warehouse?.catalog.listSchemas()) ?? []
  const outcomes: CheckOutcome[] = []
  for await (const outcome of runChecks(checks, {
    warehouse,
    variables,
    schemas,
    limits: queuedLimits,
    slotTimeoutSeconds: querySlotTimeout,
    refusal: createAmbiguousTableRefusal(warehouse),
    signal,
  })) {
    outcomes.push(outcome)
    await insertCheckResult(db, claim, outcomes.length, outcome)
    logOutcome(log, outcome)
  }
  const { status, message } = summarizeOutcomes(outcomes)
  if (status !== 'OK') throw new LoadProblem(qualityFailedCode, message)
  return {
    state: outcomes.length === 0 ? 'WARNING' : 'OK',
    message,
    rowsWritten: 0,
    bytesWritten: 0,
    rowsRejected: 0,
  }
}

export function logOutcome(log: RunLog, { check, status, publicMessage }: CheckOutcome): void {
  const text = `Check “${check.name}”: ${publicMessage}`
  if (status === 'OK') log.write('INFO', 'LOW', text)
  else log.write('WARN', 'HIGH', text)
}

export const checkGroupHandler: RunHandler = { run: runCheckGroup }
