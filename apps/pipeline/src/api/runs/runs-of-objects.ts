import type { RunOrigin } from '@sluice/contracts'
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'
import { type RunState, runStates } from '../../runs/run-states.ts'

/** A run with its object, without the columns that only the list of the object's own runs shows. */
export type RunOfObject = Omit<Selectable<Runs>, 'planned_tables' | 'progress_tables' | 'sealed_input' | 'tables'> & {
  object_uid: string
  object_name: string
  object_kind: RunnableKind
}

export interface RunFilter {
  client: string
  /** The query of the primary keys of the objects that the caller may see. */
  objects: RawBuilder<unknown>
  status?: readonly RunState[] | undefined
  trigger?: readonly RunOrigin[] | undefined
}

/** The position of a run in the order of lists, after which the next page starts. */
export interface RunPosition {
  created: Date
  id: number
}

const columns = sql.raw(
  [
    'id, uid, client, runnable_id, trigger, state, mode, action, attempt, created_at, created_by, scheduled_for',
    'started_at, heartbeat_at, finished_at, input, bytes_read, bytes_total, rows_read, rows_rejected, rows_written',
    'bytes_written, message, error_code, percentage, rows_per_second, bytes_per_second, estimated_end, handed_back',
    'workflow_run_id',
  ].join(', '),
)
const newestFirst = sql`order by created_at desc, id desc`

const isTriggeredBy = (trigger: RunFilter['trigger']) =>
  trigger === undefined ? sql`` : sql`and trigger = any(${[...trigger]}::text[])`

/**
 * Lists runs of several objects, newest first. One statement contains two plans and chooses one of them. If the caller
 * may see at least a tenth of the organisation's objects, it scans the organisation's newest runs and checks each.
 * Otherwise most of these runs would belong to other objects, so it reads the newest runs of each visible object. Each
 * part of the statement reads at most `limit` runs, because the result has at most as many.
 */
export async function listRunsOfObjects(
  db: Kysely<DB>,
  { client, objects, status = runStates, trigger }: RunFilter,
  { since, after, limit }: { since?: Date | undefined; after?: RunPosition | undefined; limit: number },
): Promise<RunOfObject[]> {
  const conditions = sql`${isTriggeredBy(trigger)} ${since ? sql`and created_at >= ${since}` : sql``} ${
    after ? sql`and (created_at, id) < (${after.created}, ${after.id}::bigint)` : sql``
  }`
  const isShareSmall = sql`(select is_small from visible_share)`
  // Use one index range per status, so that a rare status is found as fast as a frequent one.
  const newestRunsByStatus = status.map(
    (state) => sql`
      (select ${columns} from runs
       where client = ${client} and state = ${sql.lit(state)} ${conditions} and not ${isShareSmall}
         and ${isAmong(objects, sql`runs.runnable_id`)}
       ${newestFirst} limit ${limit})`,
  )
  const runsOfEachObject = sql`
    select runs_of_object.* from visible_objects cross join lateral (
      select ${columns} from runs
      where runnable_id = visible_objects.id and state = any(${[...status]}::text[]) ${conditions}
      order by id desc limit ${limit}
    ) runs_of_object
    where ${isShareSmall}`
  // `visible_objects` has all visible objects if they are less than a tenth, otherwise just enough to find that out.
  const { rows } = await sql<RunOfObject>`
    with visible_objects as materialized (
      select id from (${objects}) visible limit (select count(*) / 10 + 1 from runnables where client = ${client})
    ),
    visible_share as materialized (
      select count(*) * 10 < (select count(*) from runnables where client = ${client}) as is_small from visible_objects
    ),
    page as (
      (${runsOfEachObject} ${newestFirst} limit ${limit})
      union all
      (select newest.* from (${sql.join(newestRunsByStatus, sql` union all `)}) newest ${newestFirst} limit ${limit})
    )
    select page.*, object.uid as object_uid, object.name as object_name, object.kind as object_kind
    from page join runnables object on object.id = page.runnable_id ${newestFirst} limit ${limit}`.execute(db)
  return rows
}

/**
 * Returns the condition that the query `objects` selects an id. PostgreSQL checks this form for each id. It could turn
 * `exists` into a join with all objects.
 */
const isAmong = (objects: RawBuilder<unknown>, id: RawBuilder<unknown>) =>
  sql`(select true from (${objects}) visible where visible.id = ${id} limit 1)`

/** Reads the given runs that match the filter, oldest first. */
export async function readRunsOfObjects(
  db: Kysely<DB>,
  { client, objects, status = runStates, trigger }: RunFilter,
  ids: readonly number[],
): Promise<RunOfObject[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<RunOfObject>`
    with matching as (
      select ${columns} from runs
      where id = any(${[...ids]}::bigint[]) and client = ${client} and state = any(${[...status]}::text[]) ${isTriggeredBy(trigger)}
    )
    select matching.*, object.uid as object_uid, object.name as object_name, object.kind as object_kind
    from matching join runnables object on object.id = matching.runnable_id
    where ${isAmong(objects, sql`matching.runnable_id`)}
    order by matching.id`.execute(db)
  return rows
}
