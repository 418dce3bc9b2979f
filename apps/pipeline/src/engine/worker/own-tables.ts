import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { isFilledByAnother, isTableTaken } from '../drops/table-taken.ts'
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
    const other = feed.table !== '' && feed.table !== table
    const name = { client, schema, table: feed.table }
    if (other && ((await isTableTaken(db, name, id)) || (await isFilledByAnother(db, name, table))))
      throw new LoadProblem(
        'TABLE_TAKEN',
        `The source fills a table "${feed.table}" as well, and another pipeline of schema "${schema}" fills it, or another pipeline or a view is called like that. Rename one of them.`,
      )
    yield feed
  }
}
