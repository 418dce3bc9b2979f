import type { Connection, Submittable } from 'pg'
import type { Field } from './columns.ts'

/**
 * Has a statement parsed and described, and not carried out. The protocol takes one statement this way, never several.
 * `fields` are empty for a statement without a result.
 */
export class Describe implements Submittable {
  readonly fields: Promise<Field[]>
  readonly #text: string
  readonly #settle = Promise.withResolvers<Field[]>()
  #fields: Field[] = []

  constructor(text: string) {
    this.#text = text
    this.fields = this.#settle.promise
    this.fields.catch(() => {})
  }

  submit(connection: Connection): void {
    connection.parse({ name: '', text: this.#text, types: [] }, true)
    connection.describe({ type: 'S', name: '' }, true)
    connection.sync()
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#fields = fields
  }

  handleError(error: Error): void {
    this.#settle.reject(error)
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#fields)
  }
}
