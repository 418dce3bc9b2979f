import { type Role, hasRole, runnableKinds } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'

/**
 * A kind of object that users can share. All these tables have the same columns for sharing, and conditions use the
 * alias `r` for them.
 */
export interface KindOfObject {
  table: string
  noun: string
  see: Role
  manage: Role
}

export type ObjectKind = RunnableKind | 'DATA_QUALITY_CHECK'

export const objectKinds: Readonly<Record<ObjectKind, KindOfObject>> = {
  DATA_PIPELINE: {
    table: 'data_pipelines',
    noun: 'data pipeline',
    see: 'ROLE_SEE_DATA_PIPELINE',
    manage: 'ROLE_MANAGE_DATA_PIPELINE',
  },
  VIEW: { table: 'views', noun: 'view', see: 'ROLE_SEE_VIEW', manage: 'ROLE_MANAGE_VIEW' },
  DESTINATION: {
    table: 'destinations',
    noun: 'destination',
    see: 'ROLE_SEE_DESTINATION',
    manage: 'ROLE_MANAGE_DESTINATION',
  },
  DATA_QUALITY_CHECK: {
    table: 'data_quality_checks',
    noun: 'data quality check',
    see: 'ROLE_SEE_DATA_QUALITY_CHECK',
    manage: 'ROLE_MANAGE_DATA_QUALITY_CHECK',
  },
  DATA_QUALITY_CHECK_GROUP: {
    table: 'data_quality_check_groups',
    noun: 'data quality check group',
    see: 'ROLE_SEE_DATA_QUALITY_CHECK_GROUP',
    manage: 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
  },
  WORKFLOW: { table: 'workflows', noun: 'workflow', see: 'ROLE_SEE_WORKFLOW', manage: 'ROLE_MANAGE_WORKFLOW' },
}

/**
 * Returns the condition for the objects of a kind that the caller may see. It depends on the caller's role and on the
 * object's access rights.
 */
export const isShown = (caller: Caller, kind: ObjectKind): RawBuilder<SqlBool> =>
  sql`${hasRole(caller.roles, objectKinds[kind].see)}::boolean and coalesce(${visibleTo(caller, 'READ')}, false)`

export interface RunnableFilter {
  kind?: readonly RunnableKind[] | undefined
  /** The uid of a schema. Only data pipelines and views belong to a schema. */
  schema?: string | undefined
}

const kindsInSchemas: readonly RunnableKind[] = ['DATA_PIPELINE', 'VIEW']

/**
 * Returns a query of the primary keys of all runnable objects that the caller may see. Runnable objects, such as
 * pipelines and views, have runs.
 */
export function selectVisibleRunnables(
  caller: Caller,
  { kind: requestedKinds = runnableKinds, schema }: RunnableFilter,
): RawBuilder<unknown> {
  const isInSchema =
    schema === undefined
      ? sql`true`
      : sql`r.schema_id = (select id from schemas where uid = ${schema} and client = ${caller.client})`
  const possibleKinds = schema === undefined ? runnableKinds : kindsInSchemas
  const queries = possibleKinds
    .filter((kind) => requestedKinds.includes(kind) && hasRole(caller.roles, objectKinds[kind].see))
    .map((kind) => {
      const { table } = objectKinds[kind]
      return sql`select r.id from ${sql.table(table)} as r where ${visibleTo(caller, 'READ')} and ${isInSchema}`
    })
  return queries.length > 0 ? sql.join(queries, sql` union all `) : selectNone
}

const selectNone = sql`select null::bigint as id where false`
