import { Router } from 'express'
import type { SigningKeys } from './sign-in/keys.ts'

/** `/.well-known/jwks.json`: what anybody checks our tokens with. */
export function publishedKeys(keys: SigningKeys): Router {
  const routes = Router()
  routes.get('/.well-known/jwks.json', async (_request, response) => {
    const set = await keys.published()
    response.set('Cache-Control', 'public, max-age=300').json(set)
  })
  return routes
}
