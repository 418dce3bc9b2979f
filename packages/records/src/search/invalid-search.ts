import type { FieldViolation } from '@sluice/contracts'

/** An invalid search, with one violation per invalid term. It becomes a 400 problem. */
export class InvalidSearch extends Error {
  override readonly name = 'InvalidSearch'
  readonly violations: FieldViolation[]

  constructor(violations: FieldViolation[]) {
    super(violations.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '))
    this.violations = violations
  }
}

/** An invalid search term. The message is a clause that follows the term's pointer. */
export class InvalidTerm extends Error {
  override readonly name = 'InvalidTerm'
}

const maxDetailLength = 1000

/** Rejects one search term. */
export function rejectTerm(detail: string): never {
  throw new InvalidTerm(detail.length > maxDetailLength ? `${detail.slice(0, maxDetailLength - 1)}…` : detail)
}

/** Formats a part of the request for a message: quoted, escaped and shortened. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** Rejects NUL and lone surrogates, which PostgreSQL cannot store. */
export function assertStorableText(text: string): void {
  if (text.includes('\0')) rejectTerm('must not contain the NUL character')
  if (!text.isWellFormed()) rejectTerm('must be well-formed Unicode')
}
