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
  await Promise.all([
    assertAllExist('userAccess', access?.userAccess, (ids) => identity.users(ids)),
    assertAllExist('userGroupAccess', access?.userGroupAccess, (ids) => identity.userGroups(ids)),
  ])

  async function assertAllExist(
    list: 'userAccess' | 'userGroupAccess',
    grants: { id: string }[] = [],
    find: (ids: string[]) => Promise<ReadonlyMap<string, { client: string }>>,
  ): Promise<void> {
    if (grants.length === 0) return
    const principals = await find(grants.map(({ id }) => id.toLowerCase()))
    const missing = grants.findIndex(({ id }) => principals.get(id.toLowerCase())?.client !== caller.client)
    if (missing >= 0) {
      const noun = list === 'userAccess' ? 'user' : 'user group'
      throw problems.refused(
        `${pointer}/${list}/${missing}/id`,
        `Your organisation has no ${noun} with the id ${grants[missing]!.id}. Correct the id.`,
      )
    }
  }
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
