import { PostgresArrivals } from '../postgres/arrivals.ts'

const dataRow = 0x44

/** While rows of a cursor are fetched, the driver keeps one at a time: each is bounded, and not all of them together. */
export class RedshiftArrivals extends PostgresArrivals {
  fetching = false

  protected override begin(header: Buffer): number {
    const before = this.answer
    const rest = super.begin(header)
    if (this.fetching && header[0] === dataRow) this.answer = before
    return rest
  }
}
