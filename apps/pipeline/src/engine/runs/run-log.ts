import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { batches } from './batch-writer.ts'
import type { Claim } from './claim.ts'

export type Level = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'
export type Importance = 'LOW' | 'MEDIUM' | 'HIGH'

/** What people read to see what a run did. Disposing it writes the last lines, if the database takes them. */
export interface RunLog extends AsyncDisposable {
  write(level: Level, importance: Importance, message: string): void
  flush(): Promise<void>
}

const longestMessage = 10_000

/** The run's log, all attempts together: `most` lines are kept, and the last of them says that more are not. */
export async function openRunLog(
  db: Kysely<DB>,
  claim: Claim,
  redaction: Redaction,
  { most = 10_000 } = {},
): Promise<RunLog> {
  const { count } = await db
    .selectFrom('run_logs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run_id', '=', claim.id)
    .executeTakeFirstOrThrow()
  let room = most - count

  const lines = batches<object>({ write: (batch) => insert(db, claim, batch), size: 200, every: 500, held: 2_000 })

  return {
    write(level, importance, message) {
      if (room <= 0) return
      room -= 1
      const text = room === 0 ? `The log ends here: ${most} lines of a run are kept.` : redaction.apply(message)
      lines.push({ created_at: new Date(), level, importance, message: storable(text, longestMessage) })
    },
    flush: lines.flush,
    [Symbol.asyncDispose]: () => lines.flush().catch(() => {}),
  }
}

/** A run that was deleted meanwhile takes no lines, and that is no error. */
async function insert(db: Kysely<DB>, { id }: Claim, lines: object[]): Promise<void> {
  await sql`
    insert into run_logs (run_id, runnable_id, created_at, level, importance, message)
    select r.id, r.runnable_id, l.created_at, l.level, l.importance, l.message
    from json_to_recordset(${JSON.stringify(lines)})
           as l (created_at timestamptz, level text, importance text, message text),
         runs r
    where r.id = ${id}
  `.execute(db)
}

/** Text as PostgreSQL can keep it: no NUL, no halves of surrogate pairs, at most so many characters. */
export function storable(text: string, longest: number): string {
  const whole = text.replaceAll('\0', '␀').toWellFormed()
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).toWellFormed()}…`
}
