import { Redaction } from '@sluice/process'
import { listSqlLiterals } from './sql-language.ts'
import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { unsealVariableValue } from '../secrets/sealed-secrets.ts'

/** A variable with its unsealed value. */
export interface OpenVariable {
  name: string
  value: string
  secured: boolean
}

/** Unsealed values of variables by name. Users must not see the values of secured variables. */
export class Variables extends Map<string, string> {
  readonly #secured = new Set<string>()
  readonly #redaction = new Redaction()

  constructor(variables: Iterable<OpenVariable> = []) {
    super()
    for (const { name, value, secured } of variables) {
      this.set(name, value)
      if (secured) this.#secured.add(name)
      else this.#secured.delete(name)
    }
    this.#redaction.add(...this.spellings)
  }

  isSecured(name: string): boolean {
    return this.#secured.has(name)
  }

  get secured(): string[] {
    return [...this.#secured].map((name) => this.get(name)!)
  }

  /** Values of the secured variables, and their SQL literals, for redaction. Excludes values of fewer than six characters. */
  get spellings(): string[] {
    return this.secured.filter(({ length }) => length >= 6).flatMap((value) => [value, ...listSqlLiterals(value)])
  }

  /** Returns a sentence without the values of secured variables. Values of fewer than six characters are not redacted. */
  hideIn(sentence: string): string {
    return this.#redaction.apply(sentence)
  }
}

/** An override of a stored variable. If `secured` is absent, the value of the stored variable applies. */
interface VariableOverride {
  name: string
  value: string
  secured?: boolean | undefined
}

/**
 * Returns the unsealed variables of a client. A process that writes logs must add `spellings` to its redaction. Throws `SealProblem`
 * if a key is not in the key ring.
 */
export async function readVariables(
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
  const overridden = new Set(overrides.map(({ name }) => name))
  const wasSecured = new Set(rows.filter(({ secured }) => secured).map(({ name }) => name))
  // A secured variable of an applied configuration may still lack its value.
  const stored = rows.filter(
    ({ name, secured, sealed_value }) => !overridden.has(name) && !(secured && sealed_value === null),
  )
  return new Variables([
    ...stored.map(
      (row): OpenVariable => ({ name: row.name, secured: row.secured, value: unsealVariableValue(row, keyRing) }),
    ),
    ...overrides.map(({ name, value, secured = wasSecured.has(name) }): OpenVariable => ({ name, value, secured })),
  ])
}
