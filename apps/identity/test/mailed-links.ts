import { sql } from 'kysely'
import { addLink, type LinkPurpose } from '../src/sign-in/tokens/one-time-links.ts'
import type { Service } from './app-under-test.ts'

/** Creates a link for a user, and returns its token. */
export async function linkFor({ db }: Service, user: string, purpose: LinkPurpose): Promise<string> {
  const { rows } = await sql<{ id: number; email: string }>`select id, email from users where uid = ${user}`.execute(db)
  return tokenIn((await addLink(db, rows[0]!, purpose, { IDENTITY_PUBLIC_URL: 'http://localhost' })).url)
}

export const tokenIn = (text: string): string => /\?token=(sll_[\w-]{43})(?![\w-])/.exec(text)![1]!
