import type { LogStreamQuery } from '@sluice/contracts'
import type { Kysely, Selectable } from 'kysely'
import type { DB, RunLogs, Runs } from '../database.ts'

/** A filter for the log lines of an object, or of one of its runs. */
export interface LogFilter extends Pick<LogStreamQuery, 'logLevel' | 'logImportance'> {
  runnableId: number
  run?: string | undefined
}

export type LogLine = Selectable<RunLogs> & { run_uid: string }

export const maxLines = 500

/** Returns at most `maxLines` log lines after the line with the key `after`, oldest first. */
export async function listLines(
  db: Kysely<DB>,
  { runnableId, run, logLevel, logImportance }: LogFilter,
  after: number,
): Promise<LogLine[]> {
  let logLines = db
    .selectFrom('run_logs as l')
    .innerJoin('runs as r', 'r.id', 'l.run_id')
    .selectAll('l')
    .select('r.uid as run_uid')
    .where('l.runnable_id', '=', runnableId)
    .where('l.id', '>', after)
  if (run) logLines = logLines.where('r.uid', '=', run)
  if (logLevel) logLines = logLines.where('l.level', '=', logLevel)
  if (logImportance) logLines = logLines.where('l.importance', '=', logImportance)
  return logLines.orderBy('l.id').limit(maxLines).execute()
}

/** Returns the run in the filter, or the newest run if the filter has none. */
export function findRun(db: Kysely<DB>, { runnableId, run }: LogFilter): Promise<Selectable<Runs> | undefined> {
  const runs = db.selectFrom('runs').selectAll().where('runnable_id', '=', runnableId)
  return (run ? runs.where('uid', '=', run) : runs).orderBy('id', 'desc').limit(1).executeTakeFirst()
}

/**
 * Returns the key after which a stream of log lines starts, so that it contains all lines of the run. Without a run, or
 * if the run has no lines yet, the stream contains only lines that follow the current last line of the object.
 */
export async function findStartKey(db: Kysely<DB>, { runnableId }: LogFilter, run?: number): Promise<number> {
  const lines = db.selectFrom('run_logs').where('runnable_id', '=', runnableId)
  if (run !== undefined) {
    const firstLine = await lines
      .select((eb) => eb.fn.min<number | null>('id').as('id'))
      .where('run_id', '=', run)
      .executeTakeFirst()
    if (firstLine?.id) return firstLine.id - 1
  }
  const lastLine = await lines.select((eb) => eb.fn.max<number | null>('id').as('id')).executeTakeFirst()
  return lastLine?.id ?? 0
}
