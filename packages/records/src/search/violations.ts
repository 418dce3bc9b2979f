import type { Violation } from '@sluice/contracts'

/** A search that cannot be answered as asked: one violation per bad term, all at once. Stands for a 400. */
export class InvalidSearch extends Error {
  override readonly name = 'InvalidSearch'
  readonly violations: Violation[]

  constructor(violations: Violation[]) {
    super(violations.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '))
    this.violations = violations
  }
}

/** What is wrong with one term of a search, as the words that follow its pointer. */
export class InvalidTerm extends Error {
  override readonly name = 'Refusal'
}

const maxDetailLength = 1000

/** Ends the reading of one term. */
export function rejectTerm(detail: string): never {
  throw new InvalidTerm(detail.length > maxDetailLength ? `${detail.slice(0, maxDetailLength - 1)}…` : detail)
}

/** A piece of the request as a message may repeat it: quoted, without control characters, short. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** PostgreSQL stores neither NUL nor half a surrogate pair, so no row can match such text. */
export function assertStorableText(text: string): void {
  if (text.includes('\0')) rejectTerm('must not contain the NUL character')
  if (!text.isWellFormed()) rejectTerm('must be well-formed Unicode')
}
