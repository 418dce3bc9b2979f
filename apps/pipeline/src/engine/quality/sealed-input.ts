import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { GivenVariable } from './values.ts'

const purpose = (run: string) => `runs.sealed_input:${run}`

/** Seals the variables that a run was given: some may be secured, and all go the same way. The end of the run forgets them. */
export async function sealInput(
  db: Kysely<DB>,
  run: { id: number; uid: string },
  variables: readonly GivenVariable[],
  keyRing: KeyRing,
): Promise<void> {
  if (variables.length === 0) return
  await db
    .updateTable('runs')
    .set({ sealed_input: keyRing.seal(JSON.stringify(variables), purpose(run.uid)) })
    .where('id', '=', run.id)
    .execute()
}

/** Throws `SealProblem` when the key is not in the ring. */
export async function openInput(
  db: Kysely<DB>,
  run: { id: number; uid: string },
  keyRing: KeyRing,
): Promise<GivenVariable[]> {
  const row = await db.selectFrom('runs').select('sealed_input').where('id', '=', run.id).executeTakeFirst()
  return row?.sealed_input ? (JSON.parse(keyRing.open(row.sealed_input, purpose(run.uid))) as GivenVariable[]) : []
}
