import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { ajvWith } from './ajv.ts'
import type { Contract } from './contract.ts'
import type { Violation } from './problem.ts'
import { queryValues } from './query-values.ts'
import { isOnlyTooLarge, violationsOf } from './violations.ts'
import { withoutNulls, type Schema } from './without-nulls.ts'

/** A checked value, or every violation at once. */
export type Checked<T> =
  | { value: T }
  | {
      violations: Violation[]
      /** Of a body that is well-formed, and only larger than what is taken. */
      onlyTooLarge?: true
    }

// Verbose errors carry the schema, which says why a field is required.
const judges = { first: ajvWith({ verbose: true }), all: ajvWith({ allErrors: true, verbose: true }) }

/** Values and names; no honest request that is worth a list of its mistakes has more. */
const listable = 5_000

/**
 * Compiles once, when first asked. In a body, null for an optional field is the same as its absence. In a query string, numbers,
 * booleans and lists are read first.
 * Looking stops at the first violation; only a value of ordinary size is then looked through for all of them, because a
 * hostile megabyte can hold a hundred thousand.
 */
export function checker<T>(contract: Contract<T>, kind: 'body' | 'query' = 'body'): (value: unknown) => Checked<T> {
  let first: ValidateFunction | undefined
  let all: ValidateFunction | undefined
  return (given) => {
    const refusalOf = (errors: ErrorObject[]) => ({
      violations: violationsOf(errors),
      ...(kind === 'body' && isOnlyTooLarge(errors) && { onlyTooLarge: true as const }),
    })
    const value =
      kind === 'query'
        ? queryValues(contract, given as Record<string, unknown>)
        : withoutNulls(contract as Schema, given)
    first ??= judges.first.compile(contract)
    if (first(value)) return { value: value as T }
    if (sizeOf(value, listable) >= listable) return refusalOf(first.errors ?? [])
    all ??= judges.all.compile(contract)
    all(value)
    return refusalOf(all.errors ?? [])
  }
}

/** How many values it holds, 64 characters of text for one, counted to `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return 1 + (value.length >> 6)
  if (value === null || typeof value !== 'object') return 1
  let size = 1
  for (const name in value) {
    if (size >= most) return size
    size += sizeOf((value as Record<string, unknown>)[name], most - size)
  }
  return size
}
