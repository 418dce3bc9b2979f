import type { RunInput, FieldViolation } from '@sluice/contracts'
import { Problem } from '@sluice/http-server'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { findVariablesInSql } from '../../variables/insert-variables-into-sql.ts'

type GivenVariables = NonNullable<RunInput['variables']>

/**
 * Throws 422 if the request has a value for a variable that no query uses and that is not stored, or two values for the
 * same variable.
 */
export async function assertKnownVariables(
  db: Kysely<DB>,
  client: string,
  checks: readonly { query: string }[],
  variables: GivenVariables = [],
): Promise<void> {
  if (variables.length === 0) return
  const names = variables.map(({ name }) => name)
  const stored = await db
    .selectFrom('variables')
    .select('name')
    .where('client', '=', client)
    .where('name', 'in', names)
    .execute()
  const knownNames = new Set(stored.map(({ name }) => name))
  // A variable inside quotes counts as known. The result of the check then reports that variables are not allowed
  // there.
  for (const { query } of checks) for (const name of findVariablesInSql(query, 'postgres')) knownNames.add(name)
  const errors = names.flatMap((name, index): FieldViolation[] => {
    const isRepeated = names.indexOf(name) < index
    if (knownNames.has(name) && !isRepeated) return []
    const detail = isRepeated ? describeDuplicate(name) : describeUnknown(name, checks.length)
    return [{ pointer: `/variables/${index}/name`, detail }]
  })
  if (errors.length === 0) return
  throw new Problem(422, 'refused', 'The request is well formed, but violates a rule.', {
    detail: errors[0]!.detail,
    errors,
  })
}

const formatName = (name: string) => `\${${name.slice(0, 100)}}`

const describeDuplicate = (name: string) => `${formatName(name)} has two values. Send only one.`

function describeUnknown(name: string, checks: number): string {
  const uses = checks === 1 ? 'The check does not use' : 'No check in the group uses'
  return `${uses} ${formatName(name)}, and no variable of this name exists. Correct the name, or leave it out.`
}
