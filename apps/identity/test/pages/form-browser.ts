import type { Response } from 'supertest'
import { sql } from 'kysely'
import { transaction } from '@sluice/database'
import { addLink, type LinkPurpose } from '../../src/sign-in/tokens/one-time-links.ts'
import type { Service } from '../app-under-test.ts'

/** Returns the origin of a test's service. */
export const originOf = ({ http }: Service): string => new URL(http.get('/').url).origin

/** Creates a one-time link for a user and returns its path, as in a mail. */
export async function linkFor({ db }: Service, uid: string, purpose: LinkPurpose): Promise<string> {
  const { rows } = await sql<{ id: number; email: string }>`select id, email from users where uid = ${uid}`.execute(db)
  const { url } = await transaction(db, (trx) =>
    addLink(trx, rows[0]!, purpose, { IDENTITY_PUBLIC_URL: 'http://localhost:3001' }),
  )
  return url.slice('http://localhost:3001'.length)
}

export const tokenIn = (path: string): string => new URL(path, 'http://x').searchParams.get('token') ?? ''

/** A minimal browser for forms: it keeps cookies and the hidden fields of its last page. */
export function createFormBrowser({ http }: Service) {
  const cookies = new Map<string, string>()
  let hidden: Record<string, string> = {}
  const keep = (response: Response) => {
    for (const line of (response.headers['set-cookie'] as unknown as string[] | undefined) ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    hidden = Object.fromEntries(
      [...response.text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    )
    return response
  }
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return {
    hidden: () => hidden,
    cookie,
    get: async (path: string) => keep(await http.get(path).set('cookie', cookie())),
    /** Sends the last page's form. */
    post: async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      keep(
        await http
          .post(path)
          .type('form')
          .set({ cookie: cookie(), origin: 'null', 'sec-fetch-site': 'same-origin', ...headers })
          .send({ ...hidden, ...fields }),
      ),
  }
}
