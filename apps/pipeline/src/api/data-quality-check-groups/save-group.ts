import type { DataQualityCheckGroup, DataQualityCheckGroupBody } from '@sluice/contracts'
import type { Answer, Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { PipelineContext } from '../operation.ts'
import { dataQualityCheckGroups as groups } from './records.ts'
import { groupWriting } from './write.ts'
import { writeChecks } from './write-checks.ts'

type Asking = Input<PipelineContext, '/data-quality-check-groups/:uid', undefined, DataQualityCheckGroupBody>
type Answered = Promise<Answer<DataQualityCheckGroup>>

const checksIn = ({ dataQualityChecks = [] }: DataQualityCheckGroupBody) => dataQualityChecks.map(({ id }) => ({ id }))

/** A new group with its checks. */
export async function createGroup(input: Omit<Asking, 'params'>): Answered {
  const { caller, body, request, write } = input
  await groupWriting.check(body, input)
  const row = await write(async (trx) => {
    const made = await groups.insert(trx, caller, await groupWriting.columns(trx, body, undefined, input))
    await writeChecks(trx, caller, made.id, checksIn(body))
    request.audit(made.uid, { after: withoutSecrets({ ...made, checks: checksIn(body) }) })
    return made
  })
  return groups.created(row, input)
}

/** Replaces a group, the list of its checks included. */
export async function updateGroup(input: Asking): Answered {
  const { caller, params, body, request, write } = input
  await groupWriting.check(body, input)
  const row = await write(async (trx) => {
    const before = await groups.lock(trx, caller, params.uid, request.ifMatch)
    const after = await groups.update(trx, caller, before, await groupWriting.columns(trx, body, before, input))
    await writeChecks(trx, caller, after.id, checksIn(body))
    request.audit(after.uid, {
      before: withoutSecrets(before),
      after: withoutSecrets({ ...after, checks: checksIn(body) }),
    })
    return after
  })
  return groups.answer(row, input)
}
