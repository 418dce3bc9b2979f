import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { openVariableValue } from '../../sealed-secrets.ts'
import { type OpenVariable, Variables } from './variables.ts'

/** What a run was given besides: a value takes the place of the stored one, and is as secured as that, if it does not say. */
export interface VariableOverride {
  name: string
  value: string
  secured?: boolean | undefined
}

/**
 * The variables of a client, secured ones opened: a process that logs adds `spellings` to its redaction. Throws `SealProblem`
 * when a key is not in the ring.
 */
export async function variablesOf(
  db: Kysely<DB>,
  client: string,
  keyRing: KeyRing,
  overrides: readonly VariableOverride[] = [],
): Promise<Variables> {
  const rows = await db
    .selectFrom('variables')
    .select(['uid', 'name', 'secured', 'value', 'sealed_value'])
    .where('client', '=', client)
    .execute()
  const given = new Set(overrides.map(({ name }) => name))
  const wasSecured = new Set(rows.filter(({ secured }) => secured).map(({ name }) => name))
  const stored = rows.filter(({ name }) => !given.has(name))
  return new Variables([
    ...stored.map(
      (row): OpenVariable => ({ name: row.name, secured: row.secured, value: openVariableValue(row, keyRing) }),
    ),
    ...overrides.map(({ name, value, secured = wasSecured.has(name) }): OpenVariable => ({ name, value, secured })),
  ])
}
