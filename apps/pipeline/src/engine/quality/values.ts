import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { variablesOf } from '../variables/stored.ts'
import type { Variables } from '../variables/variables.ts'

/** A variable as a run is given it. Without a value, the stored one is meant. */
export interface GivenVariable {
  name: string
  value?: string | undefined
  secured?: boolean | undefined
}

/**
 * The stored variables of a client, and what was given for this run in their place. One that is stored secured stays so,
 * whatever a run is given for it.
 */
export function valuesFor(
  db: Kysely<DB>,
  client: string,
  keyRing: KeyRing,
  given: readonly GivenVariable[] = [],
): Promise<Variables> {
  const overrides = given.flatMap(({ name, value, secured }) =>
    value === undefined ? [] : [{ name, value, ...(secured && { secured }) }],
  )
  return variablesOf(db, client, keyRing, overrides)
}
