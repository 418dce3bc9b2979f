import { sql, type Kysely } from 'kysely'
import { holds } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { visibleTo, type SharedColumns } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { RunnableKind } from '../../engine/runs/runnable.ts'
import { jobKinds } from './job-kinds.ts'

/** What a caller may know of something that a job runs. */
export interface SeenObject {
  id: number
  translations: SharedColumns['translations']
  created_at: Date
  /** Of a data pipeline. */
  type?: string
  /** Whether the caller could run it, too. */
  usable: boolean
}

/** Those of these objects that the caller may see, by their keys: each by the rules of its own kind. */
export async function seenObjects(
  db: Kysely<DB>,
  caller: Caller,
  objects: readonly { id: number; kind: string }[],
): Promise<Map<number, SeenObject>> {
  const kinds = new Set(objects.map(({ kind }) => kind as RunnableKind))
  const found = await Promise.all(
    [...kinds].map(async (kind) => {
      const { table, see, manage } = jobKinds[kind]
      if (!holds(caller.roles, see)) return []
      const ids = objects.filter((one) => one.kind === kind).map(({ id }) => id)
      const usable = holds(caller.roles, manage) ? visibleTo(caller, 'READ_WRITE') : sql`false`
      const type = kind === 'DATA_PIPELINE' ? sql`r.type` : sql`null`
      const { rows } = await sql<SeenObject>`
        select r.id, r.translations, r.created_at, ${type} as type, ${usable} as usable
        from ${sql.table(table)} as r
        where r.id = any(${ids}::bigint[]) and ${visibleTo(caller, 'READ')}`.execute(db)
      return rows
    }),
  )
  return new Map(found.flat().map((one) => [one.id, one]))
}
