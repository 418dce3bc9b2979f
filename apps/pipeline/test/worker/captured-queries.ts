import { CompiledQuery, type Kysely, type KyselyPlugin } from 'kysely'
import type { DB } from '../../src/database.ts'

/** Returns the same database with a list of the queries that it receives. */
export function overheard(db: Kysely<DB>) {
  const asked: CompiledQuery[] = []
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      asked.push(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { db: db.withPlugin(plugin), asked }
}

/** Returns the SQL of a query without the comment that marks it as prepared, because EXPLAIN is another statement. */
export const withoutMark = ({ sql }: CompiledQuery): string => sql.replace(/\/\*prepared [\w-]+\*\//, '')

/** How the server would answer a query, as EXPLAIN says it. */
export async function planOf(db: Kysely<DB>, query: CompiledQuery): Promise<string> {
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': string }>(
    CompiledQuery.raw(`explain ${withoutMark(query)}`, [...query.parameters]),
  )
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}
