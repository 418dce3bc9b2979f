import { commitWithoutFlush, prepared } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { batchWriter } from './batch-writer.ts'
import type { Claim } from './claim-run.ts'

export type Level = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'
export type Importance = 'LOW' | 'MEDIUM' | 'HIGH'

/** The log of a run for users. Disposing of it writes the last lines if the database is available. */
export interface RunLog extends AsyncDisposable {
  write(level: Level, importance: Importance, message: string): void
  flush(): Promise<void>
}

const maxMessageLength = 10_000

/**
 * Opens the log of a run. It keeps at most `maxLines` lines of all attempts. The last line then says that the limit was
 * reached.
 */
export async function openRunLog(
  db: Kysely<DB>,
  claim: Claim,
  redaction: Redaction,
  { maxLines = 10_000 } = {},
): Promise<RunLog> {
  let remainingLines = maxLines - (claim.attempt > 1 ? await countLogLines(db, claim) : 0)

  const lineWriter = batchWriter<object>({
    write: (batch) => insertLogLines(db, claim, batch),
    size: 200,
    flushMs: 500,
    maxItems: 2_000,
  })

  return {
    write(level, importance, message) {
      if (remainingLines <= 0) return
      remainingLines -= 1
      const text =
        remainingLines === 0 ? `The log is full, because a run keeps ${maxLines} lines.` : redaction.apply(message)
      lineWriter.push({ created_at: new Date(), level, importance, message: toStorableText(text, maxMessageLength) })
    },
    flush: lineWriter.flush,
    [Symbol.asyncDispose]: () => lineWriter.flush().catch(() => {}),
  }
}

async function countLogLines(db: Kysely<DB>, { id }: Claim): Promise<number> {
  const { count } = await db
    .selectFrom('run_logs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run_id', '=', id)
    .executeTakeFirstOrThrow()
  return count
}

/** Stores log lines, unless the run was deleted. */
async function insertLogLines(db: Kysely<DB>, { id }: Claim, lines: object[]): Promise<void> {
  await sql`
    ${prepared('write-run-log')}
    with run as (select id, runnable_id, ${commitWithoutFlush} from runs where id = ${id})
    insert into run_logs (run_id, runnable_id, created_at, level, importance, message)
    select run.id, run.runnable_id, line.created_at, line.level, line.importance, line.message
    from json_to_recordset(${JSON.stringify(lines)})
           as line (created_at timestamptz, level text, importance text, message text),
         run
  `.execute(db)
}

/**
 * Returns text that PostgreSQL can store: without NUL and unpaired surrogates, and with at most `maxCharacters`
 * characters.
 */
export function toStorableText(text: string, maxCharacters: number): string {
  const storable = text.replaceAll('\0', '␀').toWellFormed()
  if (storable.length <= maxCharacters) return storable
  return `${storable.slice(0, maxCharacters - 1).toWellFormed()}…`
}
