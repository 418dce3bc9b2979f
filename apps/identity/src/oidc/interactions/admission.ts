import { sql, type Transaction } from 'kysely'
import { Problem } from '@sluice/http'
import type { DB } from '../../database.ts'

/** Refuses whoever is not of the application's own organisation, as if the password were wrong: nothing is opened. */
export const demandOf = (client: string) =>
  async function demand(trx: Transaction<DB>, session: { id: number }): Promise<void> {
    const { rows } = await sql`
      select from sessions s join users u on u.id = s.user_id
      where s.id = ${session.id} and u.client = ${client}`.execute(trx)
    if (rows.length === 0) throw new Problem(401, 'sign-in-failed', 'You are not of this application’s organisation.')
  }

/** What is wrong is what was typed, or who typed it. */
export const isRefusal = (error: unknown): boolean => error instanceof Problem && error.status === 401
