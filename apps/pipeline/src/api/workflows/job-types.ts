import { type JobType, hasRole } from '@sluice/contracts'
import { type Kysely, sql } from 'kysely'
import type { Caller } from '@sluice/http-server'
import { type SharedColumns, visibleTo } from '@sluice/records'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'
import type { DB } from '../../database.ts'
import { type KindOfObject, objectKinds } from '../objects/shareable-object-kinds.ts'

type JobKind = KindOfObject & { jobType?: JobType }

/**
 * The kinds of objects, and the type of the job that runs each. Workflows have no job type, because a workflow cannot
 * run another one; they are listed for the error message.
 */
export const jobKinds: Readonly<Record<RunnableKind, JobKind>> = {
  DATA_PIPELINE: { ...objectKinds.DATA_PIPELINE, jobType: 'DATA_PIPELINE_LOAD' },
  VIEW: { ...objectKinds.VIEW, jobType: 'VIEW_REFRESH' },
  DATA_QUALITY_CHECK_GROUP: { ...objectKinds.DATA_QUALITY_CHECK_GROUP, jobType: 'DATA_QUALITY_CHECK_GROUP_RUN' },
  DESTINATION: { ...objectKinds.DESTINATION, jobType: 'DESTINATION_PUSH' },
  WORKFLOW: objectKinds.WORKFLOW,
}

export const getJobKind = (jobType: JobType): JobKind =>
  Object.values(jobKinds).find((kind) => kind.jobType === jobType)!

export const getJobType = (kind: string): JobType => jobKinds[kind as RunnableKind].jobType!

/** The properties of a job's object, for callers who may see the object. */
export interface VisibleObject {
  id: number
  translations: SharedColumns['translations']
  created_at: Date
  /** The type of a data pipeline; undefined for other kinds. */
  type?: string
  /** Whether the caller may run the object too. */
  usable: boolean
}

/**
 * Returns those of the objects that the caller may see, by primary key. The role that the caller needs to see or manage
 * an object depends on its kind.
 */
export async function findVisibleObjects(
  db: Kysely<DB>,
  caller: Caller,
  objects: readonly { id: number; kind: string }[],
): Promise<Map<number, VisibleObject>> {
  const kinds = new Set(objects.map(({ kind }) => kind as RunnableKind))
  const objectsByKind = await Promise.all(
    [...kinds].map(async (kind) => {
      const { table, see, manage } = jobKinds[kind]
      if (!hasRole(caller.roles, see)) return []
      const ids = objects.filter((object) => object.kind === kind).map(({ id }) => id)
      const usable = hasRole(caller.roles, manage) ? visibleTo(caller, 'READ_WRITE') : sql`false`
      const type = kind === 'DATA_PIPELINE' ? sql`r.type` : sql`null`
      const { rows } = await sql<VisibleObject>`
        select r.id, r.translations, r.created_at, ${type} as type, ${usable} as usable
        from ${sql.table(table)} as r
        where r.id = any(${ids}::bigint[]) and ${visibleTo(caller, 'READ')}`.execute(db)
      return rows
    }),
  )
  return new Map(objectsByKind.flat().map((object) => [object.id, object]))
}
