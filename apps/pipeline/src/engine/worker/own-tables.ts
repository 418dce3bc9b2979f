import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { LoadProblem } from '../loads/load-feeds.ts'
import type { Feed } from '../sources/source.ts'
import type { PipelineToLoad } from './pipeline-to-load.ts'

/** The feeds of a pipeline. One whose table another pipeline or a view has ends them with `LoadProblem`: it would be overwritten. */
export async function* ownTables(
  db: Kysely<DB>,
  { client }: { client: string },
  { id, schema, table }: PipelineToLoad,
  feeds: AsyncIterable<Feed>,
): AsyncGenerator<Feed, void, void> {
  for await (const feed of feeds) {
    if (feed.table !== '' && feed.table !== table && (await isTaken(feed.table)))
      throw new LoadProblem(
        'TABLE_TAKEN',
        `The source fills a table "${feed.table}" as well, and another pipeline or a view of schema "${schema}" is called like that. Rename one of them.`,
      )
    yield feed
  }

  async function isTaken(name: string): Promise<boolean> {
    const pipelines = db
      .selectFrom('data_pipelines as o')
      .innerJoin('schemas as s', 's.id', 'o.schema_id')
      .select('o.id')
      .where('s.client', '=', client)
      .where('s.schema_name', '=', schema)
      .where('o.table_name', '=', name)
      .where('o.id', '!=', id)
    const views = db
      .selectFrom('views as o')
      .innerJoin('schemas as s', 's.id', 'o.schema_id')
      .select('o.id')
      .where('s.client', '=', client)
      .where('s.schema_name', '=', schema)
      .where('o.view_name', '=', name)
    return (await pipelines.unionAll(views).limit(1).executeTakeFirst()) !== undefined
  }
}
