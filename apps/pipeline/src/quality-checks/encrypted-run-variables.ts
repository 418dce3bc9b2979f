import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { readVariables, type VariableOverride, type Variables } from '../variables/variables.ts'
import type { CheckToRun } from './run-checks.ts'

/** A variable in the request that starts a run. Without a value, the run uses the stored value. */
export interface RunVariable {
  name: string
  value?: string | undefined
  secured?: boolean | undefined
}

/**
 * Returns the stored variables of an organisation, overridden by those of a run. If the stored variable is secured, its
 * override is too.
 */
export function readRunVariables(
  db: Kysely<DB>,
  client: string,
  keyRing: KeyRing,
  variables: readonly RunVariable[] = [],
): Promise<Variables> {
  const overrides: VariableOverride[] = []
  for (const { name, value, secured } of variables)
    if (value !== undefined) overrides.push(secured ? { name, value, secured } : { name, value })
  return readVariables(db, client, keyRing, overrides)
}

const sealPurpose = (run: string) => `runs.sealed_input:${run}`

/**
 * Encrypts and stores the variables of the request that starts a run, because some may be secured. They are deleted
 * when the run ends.
 */
export async function storeSealedVariables(
  db: Kysely<DB>,
  run: { id: number; uid: string },
  variables: readonly RunVariable[],
  keyRing: KeyRing,
): Promise<void> {
  if (variables.length === 0) return
  await db
    .updateTable('runs')
    .set({ sealed_input: keyRing.seal(JSON.stringify(variables), sealPurpose(run.uid)) })
    .where('id', '=', run.id)
    .execute()
}

/**
 * Reads the variables of the request that started a run. Throws `SealProblem` if their encryption key is not
 * configured.
 */
export async function readSealedVariables(
  db: Kysely<DB>,
  run: { id: number; uid: string },
  keyRing: KeyRing,
): Promise<RunVariable[]> {
  const row = await db.selectFrom('runs').select('sealed_input').where('id', '=', run.id).executeTakeFirst()
  return row?.sealed_input ? (JSON.parse(keyRing.open(row.sealed_input, sealPurpose(run.uid))) as RunVariable[]) : []
}

/** Returns the checks of a group in their order. */
export function listGroupChecks(db: Kysely<DB>, group: number): Promise<CheckToRun[]> {
  return db
    .selectFrom('data_quality_group_checks as g')
    .innerJoin('data_quality_checks as c', 'c.id', 'g.check_id')
    .select(['c.uid', 'c.name', 'c.query'])
    .where('g.group_id', '=', group)
    .orderBy('g.position')
    .execute()
}
