import type { AccessPart } from '@sluice/contracts'
import { accessColumns } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { settingOf } from '../../settings.ts'

/** The public access to new objects of a client if their body has no access. */
export async function defaultAccess(trx: Transaction<DB>, client: string): Promise<'NONE' | 'READ'> {
  return (await settingOf(trx, client, 'DEFAULT_ACCESS_LEVEL')) === 'PUBLIC' ? 'READ' : 'NONE'
}

/** The columns of whatever a body says about access; a new object gets the default where it says nothing. */
export async function seededAccess(
  trx: Transaction<DB>,
  access: AccessPart | undefined,
  current: object | undefined,
  client: string,
  otherwise = () => defaultAccess(trx, client),
): Promise<Record<string, unknown>> {
  if (current || access?.publicAccess) return accessColumns(access)
  return accessColumns({ ...access, publicAccess: await otherwise() })
}
