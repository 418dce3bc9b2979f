import { match, ok, strictEqual } from 'node:assert'
import type { Stack } from './compose-project.ts'

const get = async (url: string): Promise<{ type: string; text: string }> => {
  const response = await fetch(url)
  strictEqual(response.status, 200, url)
  return { type: response.headers.get('content-type') ?? '', text: await response.text() }
}

/** Throws unless the account pages have a stylesheet, and the OpenID Provider publishes its metadata and keys. */
export const assertSignInServed = async ({ identityUrl }: Stack): Promise<void> => {
  const page = await get(`${identityUrl}/account/forgot-password`)
  match(page.type, /text\/html/)
  const [, style] = /<link[^>]*rel="stylesheet"[^>]*href="([^"]+)"/.exec(page.text) ?? []
  ok(style, 'the page has no stylesheet')
  match((await get(new URL(style, identityUrl).href)).type, /text\/css/)

  const discovery = JSON.parse((await get(`${identityUrl}/.well-known/openid-configuration`)).text)
  strictEqual(discovery.issuer, identityUrl.replace('127.0.0.1', 'localhost'))
  const keys = JSON.parse((await get(`${identityUrl}/.well-known/jwks.json`)).text)
  ok(keys.keys.length > 0, 'no key is published')
}
