import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { DB } from '../database.ts'

/**
 * Returns SQL of the common table expression `inputs`. The query `start` selects ids of views, and `inputs` has the
 * materialised views that they read, directly or through other views.
 */
const selectInputs = (start: RawBuilder<unknown>) => sql`
  dependencies (id, client, level) as (
    select v.id, v.client, 0 from views v where v.id in (${start})
    union
    select u.id, u.client, 1
    from dependencies d
    join view_sources s on s.view_id = d.id
    join schemas n on n.client = d.client and n.schema_name = s.schema_name
    join views u on u.schema_id = n.id and u.view_name = s.relation_name
  ),
  inputs as (select v.* from dependencies d join views v on v.id = d.id where d.level > 0 and v.materialized)`

/**
 * Returns SQL that is true if a queued run of a view must wait for runs of the views that it reads, so that it does not
 * read old rows. The run waits for runs that were requested before it or up to a minute later, and for runs that are
 * due by schedule, at most for six hours. Manual runs do not wait.
 */
export const mustWaitForInputs = (run: string): RawBuilder<boolean> => sql<boolean>`(
    with recursive waiting as (
      select r.runnable_id, r.created_at, r.scheduled_for
      from runs r join views v on v.id = r.runnable_id
      where r.uid = ${run} and r.state = 'QUEUED' and r.trigger <> 'MANUAL' and v.materialized
        and r.created_at > now() - interval '6 hours'
    ),
    ${selectInputs(sql`select runnable_id from waiting`)}
    select exists (
      select from inputs i cross join waiting w join runnables o on o.id = i.id
      where i.id <> w.runnable_id and (
        exists (
          select from runs r where r.runnable_id = i.id and r.state in ('QUEUED', 'RUNNING')
            and r.created_at < w.created_at + interval '1 minute')
        or (not o.disabled and o.next_run_at <= w.scheduled_for))
    ))`

/**
 * Lists the materialised views that a view reads and that are older than their own sources. Returns at most five names.
 */
export async function listStaleInputs(db: Kysely<DB>, view: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    with recursive ${selectInputs(sql`select ${view}::bigint`)}
    select i.name from inputs i
    where i.id <> ${view} and exists (
      select from view_sources s
      join schemas n on n.client = i.client and n.schema_name = s.schema_name
      left join views u on u.schema_id = n.id and u.view_name = s.relation_name and u.materialized
      left join data_pipelines p on p.schema_id = n.id and p.table_name = s.relation_name
      where s.view_id = i.id and (
        u.filled_at > i.filled_at
        or exists (
          select from runs r where r.runnable_id = p.id and r.action <> 'DRY_RUN' and r.state in ('OK', 'WARNING')
            and r.finished_at > i.filled_at))
    )
    order by i.name limit 5`.execute(db)
  return rows.map(({ name }) => name)
}
