import type { Variable, VariableBody } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { PipelineContext } from '../operation.ts'
import { type VariableRow, variables } from './records.ts'
import { variableColumns } from './write.ts'

/** Creates or replaces by name, all or nothing, and answers in the order that was sent. */
export async function saveVariables(
  input: Input<PipelineContext, '/variables', undefined, VariableBody[]>,
): Promise<Variable[]> {
  const { body, caller, keyRing, request, write } = input
  refuseTwice(body)
  const rows = await write(async (trx) => {
    const found = await trx
      .selectFrom('variables')
      .selectAll()
      .where('client', '=', caller.client)
      .where(
        'name',
        'in',
        body.map(({ name }) => name),
      )
      // In one order, so that two who save the same ones do not lock each other out.
      .orderBy('id')
      .forUpdate()
      .$castTo<VariableRow>()
      .execute()
    const byName = new Map(found.map((row) => [row.name, row]))
    const saved: VariableRow[] = []
    for (const [index, one] of body.entries()) {
      const before = byName.get(one.name)
      const columns = variableColumns(one, before, caller.client, keyRing, `/${index}`)
      const after = before
        ? await variables.update(trx, caller, before, columns)
        : await variables.insert(trx, caller, columns)
      request.audit(after.uid, { ...(before && { before: withoutSecrets(before) }), after: withoutSecrets(after) })
      saved.push(after)
    }
    return saved
  })
  return variables.kind.present(rows, input)
}

function refuseTwice(body: VariableBody[]): void {
  const first = new Map<string, number>()
  for (const [index, { name }] of body.entries()) {
    if (first.has(name))
      throw problems.conflict(`/${index}/name`, `Variable ${first.get(name)! + 1} of the list has this name too.`)
    first.set(name, index)
  }
}
