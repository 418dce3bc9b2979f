import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { LeaseLost } from '@sluice/warehouses/warehouse'
import {
  type ImportOptions,
  type Target,
  type TargetSettings,
  unsealTargetSecrets,
  createTarget,
} from './push-target.ts'
import { namesVariables, replaceVariables } from '../variables/replace-variables.ts'
import { readVariables } from '../variables/variables.ts'

/** A destination as it was at the start of an attempt. */
export interface DestinationToPush {
  target: Target
  options: ImportOptions
  /** The schema and name of the view in the warehouse. */
  schema: string
  view: string
  /** The reason why the view does not exist yet; null if it exists. */
  pending: string | null
}

/**
 * Reads a destination and decrypts its secrets. Throws `LeaseLost`, which ends the attempt, if the destination was
 * deleted.
 */
export async function readDestination(db: Kysely<DB>, ring: KeyRing, id: number): Promise<DestinationToPush> {
  const row = await db
    .selectFrom('destinations as d')
    .innerJoin('views as v', 'v.id', 'd.view_id')
    .innerJoin('schemas as s', 's.id', 'v.schema_id')
    .select(['d.client', 'd.uid', 'd.settings', 'd.target_secrets', 'd.import_options', 'v.view_name as view'])
    .select(['s.schema_name as schema', 'v.pending'])
    .where('d.id', '=', id)
    .executeTakeFirst()
  if (!row) throw new LeaseLost('The destination was deleted.')
  const secrets = await replaceTargetVariables(db, row.client, ring, unsealTargetSecrets(row, ring))
  const { schema, view, pending } = row
  return {
    target: createTarget(row.settings as unknown as TargetSettings, secrets),
    options: row.import_options as ImportOptions,
    schema,
    view,
    pending,
  }
}

/** Replaces variables in the secrets of a target by their values. Throws `VariableProblem` for an unknown variable. */
export async function replaceTargetVariables<Secrets extends object>(
  db: Kysely<DB>,
  client: string,
  ring: KeyRing,
  secrets: Secrets,
): Promise<Secrets> {
  return namesVariables(secrets) ? replaceVariables(secrets, await readVariables(db, client, ring)) : secrets
}
