import { pipelineOperations, searchOf } from '@sluice/contracts'
import { sharingOperations, withoutSecrets } from '@sluice/records'
import { operation } from '../operation.ts'
import { runOperations } from '../runs/operations.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import { asSearchResult } from './pages.ts'
import { workflows } from './records.ts'
import { runs } from './run-history.ts'
import { beforeDelete, checkWorkflow, demandJobs, jobsFor, workflowColumns, writeSteps } from './write.ts'

const { workflows: signatures } = pipelineOperations
const kind = { operation, records: workflows }

export const workflowOperations = {
  list: operation(signatures.list, async (input) => {
    const request = searchOf(input.query)
    return asSearchResult(await workflows.search(input.db, input, request, input.request.url), request)
  }),

  search: operation(signatures.search, async (input) =>
    asSearchResult(await workflows.search(input.db, input, input.body), input.body),
  ),

  create: operation(signatures.create, async (input) => {
    const { body, caller } = input
    await checkWorkflow(body, input)
    const row = await input.write(async (trx) => {
      const jobs = await jobsFor(trx, body, undefined, input)
      const made = await workflows.insert(trx, caller, await workflowColumns(trx, body, undefined, input))
      await writeSteps(trx, made, body, jobs)
      input.request.audit(made.uid, { after: withoutSecrets({ ...made, steps: body.steps }) })
      return made
    })
    return workflows.created(row, input)
  }),

  read: operation(signatures.read, async (input) =>
    workflows.answer(await workflows.read(input.db, input.caller, input.params.uid), input),
  ),

  update: operation(signatures.update, async (input) => {
    const { body, caller, params, request } = input
    await checkWorkflow(body, input)
    const row = await input.write(async (trx) => {
      const before = await workflows.lock(trx, caller, params.uid, request.ifMatch)
      const jobs = await jobsFor(trx, body, before, input)
      const after = await workflows.update(trx, caller, before, await workflowColumns(trx, body, before, input))
      await writeSteps(trx, after, body, jobs)
      request.audit(after.uid, {
        before: withoutSecrets(before),
        after: withoutSecrets({ ...after, steps: body.steps }),
      })
      return after
    })
    return workflows.answer(row, input)
  }),

  delete: operation(signatures.delete, async (input) => {
    const { caller, params, request } = input
    await input.write(async (trx) => {
      const row = await workflows.lock(trx, caller, params.uid, request.ifMatch)
      await beforeDelete(trx, row)
      await workflows.remove(trx, row)
      request.audit(row.uid, { before: withoutSecrets(row) })
    })
    return undefined
  }),

  ...sharingOperations(signatures, kind, checkSharingTargets),
  ...runOperations(signatures, { kind: 'WORKFLOW', records: workflows, checkReady: demandJobs }),
  runs: operation(signatures.runs, runs),
}
