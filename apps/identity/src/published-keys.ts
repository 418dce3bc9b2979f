import { Router } from 'express'
import type { Kysely } from 'kysely'
import type { DB } from './database.ts'
import type { SigningKeys } from './sign-in/keys.ts'
import { storedKeys } from './sign-in/stored-keys.ts'

/**
 * `/.well-known/jwks.json`: what anybody checks our tokens with. Read anew each time, so that a key that was withdrawn is
 * not handed out again; what is remembered is the answer only while the database is down.
 */
export function publishedKeys(db: Kysely<DB>, keys: SigningKeys): Router {
  const routes = Router()
  routes.get('/.well-known/jwks.json', async (_request, response) => {
    const remembered = await keys.published()
    const now = await storedKeys(db).catch(() => [])
    const set = now.length > 0 ? { keys: now.map(({ public_jwk }) => public_jwk) } : remembered
    response.set('Cache-Control', 'public, max-age=300').json(set)
  })
  return routes
}
