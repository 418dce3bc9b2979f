import {
  type ObjectAccess,
  type AccessBody,
  type AccessObject,
  type AccessPart,
  hasRole,
  translateProperty,
} from '@sluice/contracts'
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Caller } from '@sluice/http-server'

/** A row type with more precise column types than the generated ones. */
export type RefinedRow<Row, Known> = Omit<Row, keyof Known> & Known

/** Columns of every record that users can share within their organisation. */
export interface SharedColumns {
  translations: { locale: string; property: string; value: string }[]
  public_access: ObjectAccess['publicAccess']
  user_access: AccessObject[]
  user_group_access: AccessObject[]
}

/**
 * Returns a text property in the reader's language (see `translateProperty`). Returns undefined if the property has no
 * value.
 */
export function translateRowProperty<T extends string | null | undefined>(
  row: Pick<SharedColumns, 'translations'>,
  property: string,
  plain: T,
  locales: readonly string[],
): T extends string ? string : string | undefined {
  const hasValue = plain !== null && plain !== undefined
  const text = hasValue ? translateProperty(plain, row.translations, property, locales) : undefined
  return text as T extends string ? string : string | undefined
}

/** Returns the access fields of a response from the columns of a row. */
export function presentAccess({
  public_access,
  user_access,
  user_group_access,
}: Omit<SharedColumns, 'translations'>): ObjectAccess {
  const isShared = user_access.length > 0 || user_group_access.length > 0
  const hasPublicAccess = public_access !== 'NONE'
  const levelWithoutPublic = isShared ? 'SHARED' : 'PRIVATE'
  return {
    publicAccess: public_access,
    userAccess: user_access,
    userGroupAccess: user_group_access,
    accessLevel: hasPublicAccess ? 'PUBLIC' : levelWithoutPublic,
    hasPublicAccess,
  }
}

/** Returns the columns for the access fields of a request body. Absent fields keep their values. */
export function accessColumns(access: AccessBody | AccessPart | undefined): Record<string, unknown> {
  return {
    ...(access?.publicAccess && { public_access: access.publicAccess }),
    ...(access?.userAccess && { user_access: grantsOf(access.userAccess) }),
    ...(access?.userGroupAccess && { user_group_access: grantsOf(access.userGroupAccess) }),
  }
}

/** Returns the grants as JSON with lower-case ids. If an id occurs twice, the higher level counts. */
function grantsOf(grants: readonly { id: string; access?: AccessObject['access'] }[]): string {
  const levels = new Map<string, AccessObject['access']>()
  for (const { id, access = 'READ' } of grants) {
    const uid = id.toLowerCase()
    if (levels.get(uid) !== 'READ_WRITE') levels.set(uid, access)
  }
  return JSON.stringify(Array.from(levels, ([id, access]) => ({ id, access })))
}

export type AccessLevel = 'READ' | 'READ_WRITE'

const sufficientLevels: Record<AccessLevel, AccessLevel[]> = {
  READ: ['READ', 'READ_WRITE'],
  READ_WRITE: ['READ_WRITE'],
}

/**
 * Returns the condition for the shared records that a caller may see or change: records of their organisation that they
 * own, that are public, or that are shared with them or one of their groups. A super admin reaches every record of the
 * organisation, so that no record is orphaned. `r` is the alias of the record's table.
 */
export function visibleTo(caller: Caller, level: AccessLevel): RawBuilder<SqlBool> {
  const isOfClient = sql<SqlBool>`r.client = ${caller.client}`
  if (hasRole(caller.roles, 'ROLE_SUPER_ADMIN')) return isOfClient
  return sql<SqlBool>`(${isOfClient} and (
    r.created_by = ${caller.uid}
    or r.public_access = any(${sufficientLevels[level]})
    or ${isGranted('user_access', [caller.uid], level)}
    or ${isGranted('user_group_access', caller.userGroups, level)}))`
}

/** Returns the condition that a column of grants contains one of these ids with a sufficient access level. */
const isGranted = (
  column: 'user_access' | 'user_group_access',
  ids: readonly string[],
  level: AccessLevel,
) => sql<SqlBool>`exists (
  select from jsonb_to_recordset(${sql.ref(`r.${column}`)}) as g(id text, access text)
  where g.id = any(${ids}) and g.access = any(${sufficientLevels[level]}))`
