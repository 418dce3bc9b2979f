import { Redaction } from '@sluice/process'
import { literalsOf } from './sql-language.ts'

/** A variable with its value in the open. */
export interface OpenVariable {
  name: string
  value: string
  secured: boolean
}

/** Values by name, in the open: to be bound, never to be shown. */
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

  /** Values of the secured variables. */
  get secured(): string[] {
    return [...this.#secured].map((name) => this.get(name)!)
  }

  /** Values of the secured variables and their SQL literals, for redaction. Excludes values of fewer than six characters. */
  get spellings(): string[] {
    return this.secured.filter(({ length }) => length >= 6).flatMap((value) => [value, ...literalsOf(value)])
  }

  /** A sentence without the values of secured variables, those of less than six characters excepted. */
  hideIn(sentence: string): string {
    return this.#redaction.apply(sentence)
  }
}
