import { Redaction } from '@sluice/process'
import { listSqlLiterals } from './sql-syntax-rules.ts'
import type { KeyRing } from '@sluice/database'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { unsealVariableValue } from '../secrets/encrypted-secrets.ts'

/** A variable with its decrypted value. */
export interface DecryptedVariable {
  name: string
  value: string
  secured: boolean
}

/** The decrypted values of variables by name. Users must not see the values of secured variables. */
export class Variables extends Map<string, string> {
  readonly #secured = new Set<string>()
  readonly #redaction = new Redaction()

  constructor(variables: Iterable<DecryptedVariable> = []) {
    super()
    for (const { name, value, secured } of variables) {
      this.set(name, value)
      if (secured) this.#secured.add(name)
      else this.#secured.delete(name)
    }
    this.#redaction.add(...this.textsToRedact)
  }

  isSecured(name: string): boolean {
    return this.#secured.has(name)
  }

  get securedValues(): string[] {
    return [...this.#secured].map((name) => this.get(name)!)
  }

  /**
   * The texts to redact: values of secured variables and their SQL literals. Excludes values with fewer than six
   * characters.
   */
  get textsToRedact(): string[] {
    return this.securedValues.filter(({ length }) => length >= 6).flatMap((value) => [value, ...listSqlLiterals(value)])
  }

  /**
   * Returns the sentence with values of secured variables redacted. Does not redact values with fewer than six
   * characters.
   */
  hideIn(sentence: string): string {
    return this.#redaction.apply(sentence)
  }
}

/** A value that overrides a stored variable. If `secured` is undefined, that of the stored variable applies. */
export interface VariableOverride {
  name: string
  value: string
  secured?: boolean | undefined
}

/**
 * Returns an organisation's variables, decrypted. `overrides` replaces stored values and adds variables. A process that
 * writes logs must add `textsToRedact` to its redaction. Throws `SealProblem` if an encryption key is not configured.
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
  const overriddenNames = new Set(overrides.map(({ name }) => name))
  const securedNames = new Set(rows.filter(({ secured }) => secured).map(({ name }) => name))
  // A secured variable from an applied configuration has no value until a user enters it.
  const hasValue = ({ secured, sealed_value }: (typeof rows)[number]) => !secured || sealed_value !== null
  const stored = rows.filter((row) => !overriddenNames.has(row.name) && hasValue(row))
  return new Variables([
    ...stored.map(
      (row): DecryptedVariable => ({ name: row.name, secured: row.secured, value: unsealVariableValue(row, keyRing) }),
    ),
    ...overrides.map(
      ({ name, value, secured = securedNames.has(name) }): DecryptedVariable => ({ name, value, secured }),
    ),
  ])
}
