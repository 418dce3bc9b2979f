import { afterAll, beforeAll } from '@jest/globals'
import type { Warehouse } from '../src/warehouse.ts'

/** A kind of warehouse under test: two clients' warehouses on one server, each with the schema `health`. */
export interface Subject extends AsyncDisposable {
  warehouse: Warehouse
  /** Of another client. */
  neighbour: Warehouse
  /** How its own SQL sets the names of all rows that a transformation sees to `changed`. */
  changeNames: string
  /** Whether the server knows who asks; an embedded engine does not. */
  hasUsers: boolean
  /** Where the server holds less than PostgreSQL, or writes it another way. */
  differs?: {
    /** Whether its floating-point types have no NaN. */
    nan?: false
    /** The longest negative number with a half that a decimal without a size holds. */
    anyDecimal?: string
    /** Bytes of the longest text that a column holds, where there is an end to it. */
    longestText?: number
    /** A query over `counted` that divides by zero in one of its last rows. */
    integerDivision?: string
    /** Sluice cannot read its plans. */
    plans?: false
    /** A text of a million characters. */
    wide?: string
  }
  /** A query of a client on something of its neighbour's, as an attacker who knows every name would write it. */
  spying(table: string): Promise<string>
}

/** What a suite is given before its tests run. */
export interface Given {
  readonly warehouse: Warehouse
  readonly subject: Subject
}

export function subjectForAll(open: () => Promise<Subject>): Given {
  let subject: Subject
  beforeAll(async () => {
    subject = await open()
    await subject.warehouse.catalog.ensureSchema('health')
    await subject.neighbour.catalog.ensureSchema('health')
  })
  afterAll(async () => {
    await subject?.[Symbol.asyncDispose]()
  })
  return {
    get warehouse() {
      return subject.warehouse
    },
    get subject() {
      return subject
    },
  }
}

/** All rows of a table. */
export const rowsIn = async (warehouse: Warehouse, table: string, schema = 'health') =>
  (await warehouse.queries.readTable(schema, table, { limit: 10_000, offset: 0 })).rows
