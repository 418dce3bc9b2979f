import type { ClientBase } from 'pg'
import type { Place } from '../views.ts'
import { qualified } from './names.ts'
import { viewProblems } from './view-problems.ts'

/** Bytes that a materialised view may have, with its indexes and what it keeps out of line. */
export const mostViewBytes = 50 * 1024 ** 3

/** Measured when it is built and before that is committed: what is too large is gone with the transaction. */
export async function demandSmall(
  client: ClientBase,
  { schema, name }: Place,
  { oid, mostBytes }: { oid: number; mostBytes: number },
): Promise<void> {
  const { rows } = await client.query<{ bytes: number }>('select pg_total_relation_size($1::oid)::float8 as bytes', [
    oid,
  ])
  if (rows[0]!.bytes > mostBytes) throw viewProblems.tooLarge(qualified(schema, name), rows[0]!.bytes, mostBytes)
}
