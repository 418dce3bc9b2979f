import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { namesVariables, replaceVariables } from '../variables/replace.ts'
import { variablesOf } from '../variables/stored.ts'

/** The secrets of a target with the values of variables. Throws `VariableProblem` for a name that is not known. */
export async function withTargetValues<Secrets extends object>(
  db: Kysely<DB>,
  client: string,
  ring: KeyRing,
  secrets: Secrets,
): Promise<Secrets> {
  return namesVariables(secrets) ? replaceVariables(secrets, await variablesOf(db, client, ring)) : secrets
}
