import type { AccessPart } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { accessColumns } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { RequestContext } from './operation-context.ts'
import type { DB } from '../database.ts'
import { readSetting } from '../organisation-settings.ts'

/**
 * Throws 422 for users or groups that do not exist in the caller's organisation. `pointer` is the JSON pointer of the
 * access rights in the request body.
 */
export async function assertSharingTargets(
  access: AccessPart | undefined,
  { identity, caller }: RequestContext,
  pointer = '/access',
): Promise<void> {
  const { userAccess = [], userGroupAccess = [] } = access ?? {}
  const idsOf = (grants: readonly { id: string }[]) => grants.map(({ id }) => id.toLowerCase())
  const [users, userGroups] = await Promise.all([
    userAccess.length > 0 ? identity.users(idsOf(userAccess)) : new Map<string, never>(),
    userGroupAccess.length > 0 ? identity.userGroups(idsOf(userGroupAccess)) : new Map<string, never>(),
  ])
  assertAllInClient(users, userAccess, caller.client, { noun: 'user', pointer: `${pointer}/userAccess` })
  assertAllInClient(userGroups, userGroupAccess, caller.client, {
    noun: 'user group',
    pointer: `${pointer}/userGroupAccess`,
  })
}

/** Throws 422 if a user or group does not exist or belongs to another organisation. */
function assertAllInClient(
  principals: ReadonlyMap<string, { client: string }>,
  grants: readonly { id: string }[],
  client: string,
  { noun, pointer }: { noun: string; pointer: string },
): void {
  const unknownIndex = grants.findIndex(({ id }) => principals.get(id.toLowerCase())?.client !== client)
  if (unknownIndex !== -1)
    throw problems.refused(
      `${pointer}/${unknownIndex}/id`,
      `Your organisation has no ${noun} with the id ${grants[unknownIndex]!.id}. Correct the id.`,
    )
}

/** Returns the public access of an organisation's new objects if the request does not set it. */
export async function readDefaultAccess(trx: Transaction<DB>, client: string): Promise<'NONE' | 'READ'> {
  return (await readSetting(trx, client, 'DEFAULT_ACCESS_LEVEL')) === 'PUBLIC' ? 'READ' : 'NONE'
}

/**
 * Returns the access columns of a request body. A new object gets the default if the body does not set the public
 * access.
 */
export async function toAccessColumnsWithDefault(
  trx: Transaction<DB>,
  access: AccessPart | undefined,
  current: object | undefined,
  client: string,
  readDefault = () => readDefaultAccess(trx, client),
): Promise<Record<string, unknown>> {
  if (current || access?.publicAccess) return accessColumns(access)
  return accessColumns({ ...access, publicAccess: await readDefault() })
}
