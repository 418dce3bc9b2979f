import type { GroupResult, ResultEnvelope, RunInput } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import { createAmbiguousTableRefusal } from '../../quality-checks/query-refusals.ts'
import {
  listGroupChecks,
  storeSealedVariables,
  readRunVariables,
} from '../../quality-checks/encrypted-run-variables.ts'
import { recordGroupRun, summarizeOutcomes } from '../../quality-checks/save-check-group-run.ts'
import { type CheckOutcome, runChecks, checkNotRun } from '../../quality-checks/run-checks.ts'
import { startRun } from '../../run-lifecycle/start-run.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { presentOutcome, findReadableUids } from '../data-quality/check-results.ts'
import { assertKnownVariables } from '../data-quality/assert-known-variables.ts'
import type { PipelineContext } from '../operation-context.ts'
import { createAcceptedRunResult } from '../result-envelope.ts'
import { createAlreadyRunningResult } from '../runs/operations.ts'
import { dataQualityCheckGroups as groups } from './records.ts'

type RunGroupRequest = OperationInput<PipelineContext, '/data-quality-check-groups/:uid/run', undefined, RunInput>

const groupLimits = { rows: 100, bytes: 1024 * 1024, seconds: 30 }

const groupTimeoutSeconds = 60

/** Runs the checks of a group within the request. The run appears in the history like any other. */
export async function runGroup(input: RunGroupRequest): Promise<GroupResult> {
  const { db, caller, params, body, warehouses, keyRing, request, write, queue } = input
  const group = await groups.readToWrite(db, caller, params.uid, undefined)
  const checks = await listGroupChecks(db, group.id)
  await assertKnownVariables(db, group.client, checks, body.variables)
  const [variables, warehouse] = await Promise.all([
    readRunVariables(db, group.client, keyRing, body.variables),
    warehouses.find(group.client),
  ])
  const startedAt = new Date()
  const outcomes: CheckOutcome[] = []
  const run = async (signal: AbortSignal): Promise<void> => {
    const schemas = (await warehouse?.catalog.listSchemas()) ?? []
    const refusal = createAmbiguousTableRefusal(warehouse)
    const checkContext = {
      warehouse,
      variables,
      schemas,
      limits: groupLimits,
      seconds: groupTimeoutSeconds,
      refusal,
      signal,
    }
    for await (const outcome of runChecks(checks, checkContext)) outcomes.push(outcome)
  }
  await runWhileConnected(
    {
      request,
      queue: requestSlots.checks.queueOf(group.client),
      // Add 15 seconds, because the last check may start just before the group's time limit and then count the
      // violating rows.
      timeoutMs: (groupTimeoutSeconds + 15) * 1_000,
      onTimeout: () => {},
    },
    run,
  )
  const reason = `The check was not run, because the time limit of ${groupTimeoutSeconds} seconds for the group was over. Queue a run of the group instead.`
  for (const check of checks.slice(outcomes.length)) outcomes.push(checkNotRun(check, reason))

  const verdict = summarizeOutcomes(outcomes)
  const endedRun = await write(async (trx) => {
    const { id, client } = await groups.lock(trx, caller, params.uid, undefined)
    const subject = { id, client, createdBy: caller.uid, startedAt }
    const recorded = await recordGroupRun(trx, queue, subject, verdict, outcomes)
    request.audit(params.uid, { run: recorded.uid })
    return recorded
  })
  const readable = await findReadableUids(
    db,
    caller,
    checks.map(({ uid }) => uid),
  )
  return {
    name: group.name,
    ...verdict,
    taskId: endedRun.uid,
    completedAt: endedRun.finished_at!.toISOString(),
    variables: (body.variables ?? []).map(({ name, value, secured: hidden = false }) =>
      hidden || variables.isSecured(name) ? { name, secured: true } : { name, secured: false, value },
    ),
    results: outcomes.map((outcome) => presentOutcome(outcome, readable.has(outcome.check.uid))),
  }
}

/** Queues a run of a group. The request can set values of variables for this run only. */
export async function startGroup(input: RunGroupRequest): Promise<ResultEnvelope> {
  const { caller, params, body, request, queue, write, keyRing } = input
  const runVariables = (body.variables ?? []).map(({ name, value, secured }) => ({ name, value, secured }))
  const { run, existing } = await write(async (trx) => {
    const { id, client } = await groups.lock(trx, caller, params.uid, undefined)
    await assertKnownVariables(trx, client, await listGroupChecks(trx, id), runVariables)
    const runnable = { id, client, kind: 'DATA_QUALITY_CHECK_GROUP' as const }
    const started = await startRun(trx, queue, runnable, { trigger: 'MANUAL', createdBy: caller.uid })
    if (!started.existing) await storeSealedVariables(trx, started.run, runVariables, keyRing)
    else if (runVariables.length > 0)
      throw problems.conflict(
        '/variables',
        'A run of this group with other values is queued or running. Wait for its end, or cancel it.',
      )
    request.audit(params.uid, { run: started.run.uid })
    return started
  })
  return existing
    ? createAlreadyRunningResult(run.uid)
    : createAcceptedRunResult('queued', 'The run is queued.', run.uid)
}
