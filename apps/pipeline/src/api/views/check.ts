import type { ViewBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { sqlPieces } from '../../engine/variables/sql-pieces.ts'
import type { Asked } from '../operation.ts'
import { checkSchedule } from '../schedules/check-schedule.ts'
import { checkSharingTargets } from '../sharing-targets.ts'

/** What can be said of a body without asking the database. */
export async function checkView(body: ViewBody, input: Asked): Promise<void> {
  checkQuery(body.query)
  checkSchedule(body)
  await checkSharingTargets(body.access, input)
}

/** A view stays in the warehouse, which knows no variables and would keep their values for all to read. */
export function checkQuery(query: string): void {
  if (query.trim() === '') throw problems.refused('/query', 'The query must not be blank.')
  for (const { kind, text: piece } of sqlPieces(query)) {
    const text = kind === 'comment' ? undefined : /\$\{[^{}\n]*\}/.exec(piece)?.[0]
    if (text !== undefined)
      throw problems.refused(
        '/query',
        `A view cannot use variables, and here is ${text.slice(0, 100)}: its query is kept in the warehouse. Write the value, or leave it to whoever reads the view.`,
      )
  }
}
