import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { DB } from '../database.ts'

/**
 * Returns SQL of the common table expression `inputs`: the materialised views that some views read, directly or through
 * other views. The query `readers` selects the ids of the reading views.
 */
const selectInputs = (readers: RawBuilder<unknown>) => sql`
  view_graph (id, client, is_input) as (
    select id, client, false from views where id in (${readers})
    union
    select input.id, input.client, true
    from view_graph reader
    join view_sources source on source.view_id = reader.id
    join schemas on schemas.client = reader.client and schemas.schema_name = source.schema_name
    join views input on input.schema_id = schemas.id and input.view_name = source.relation_name
  ),
  inputs as (
    select views.* from view_graph join views on views.id = view_graph.id
    where view_graph.is_input and views.materialized)`

/**
 * Returns SQL that is true if a queued run of a view must wait for runs of the views that it reads, so that it does not
 * read old rows. The run waits for runs that were requested before it or up to a minute later, and for runs that are
 * due by schedule, at most for six hours. Manual runs do not wait.
 */
export const mustWaitForInputs = (run: string): RawBuilder<boolean> => sql<boolean>`(
    with recursive waiting_run as (
      select run.runnable_id, run.created_at, run.scheduled_for
      from runs run join views on views.id = run.runnable_id
      where run.uid = ${run} and run.state = 'QUEUED' and run.trigger <> 'MANUAL' and views.materialized
        and run.created_at > now() - interval '6 hours'
    ),
    ${selectInputs(sql`select runnable_id from waiting_run`)}
    select exists (
      select from inputs input
      cross join waiting_run
      join runnables input_schedule on input_schedule.id = input.id
      where input.id <> waiting_run.runnable_id and (
        exists (
          select from runs input_run
          where input_run.runnable_id = input.id and input_run.state in ('QUEUED', 'RUNNING')
            and input_run.created_at < waiting_run.created_at + interval '1 minute')
        or (not input_schedule.disabled and input_schedule.next_run_at <= waiting_run.scheduled_for))
    ))`

/**
 * Returns the names of up to five materialised views that a view reads, directly or through other views, and that are
 * older than one of their sources: a materialised view that was filled later, or a table that was loaded later.
 */
export async function listStaleInputs(db: Kysely<DB>, view: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    with recursive ${selectInputs(sql`select ${view}::bigint`)}
    select input.name from inputs input
    where input.id <> ${view} and exists (
      select from view_sources source
      join schemas on schemas.client = input.client and schemas.schema_name = source.schema_name
      left join views source_view on source_view.schema_id = schemas.id
        and source_view.view_name = source.relation_name and source_view.materialized
      left join data_pipelines pipeline on pipeline.schema_id = schemas.id
        and pipeline.table_name = source.relation_name
      where source.view_id = input.id and (
        source_view.filled_at > input.filled_at
        or exists (
          select from runs load
          where load.runnable_id = pipeline.id and load.action <> 'DRY_RUN' and load.state in ('OK', 'WARNING')
            and load.finished_at > input.filled_at))
    )
    order by input.name limit 5`.execute(db)
  return rows.map(({ name }) => name)
}
