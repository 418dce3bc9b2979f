import { errors, type AdapterPayload } from 'oidc-provider'

/** JSON of a payload, without what could be used by whoever reads the database: the id itself, and the browser's session. */
export function storedPayload(model: string, id: string, payload: AdapterPayload): string {
  const { jti: _jti, ...rest } = payload
  const stored: Record<string, unknown> = model === 'Interaction' ? withoutIds(rest, id) : rest
  const text = JSON.stringify(stored)
  if (text.includes(String.raw`\u0000`) || !text.isWellFormed())
    throw new errors.InvalidRequest('a parameter holds a NUL character')
  return text
}

/** A stored payload as it was. */
export function payloadOf(model: string, id: string, stored: AdapterPayload): AdapterPayload {
  const payload = { ...stored, ...(id && { jti: id }) }
  return model === 'Interaction' ? { ...payload, returnTo: `${stored.returnTo}${id}` } : payload
}

function withoutIds({ returnTo, session, ...rest }: AdapterPayload, id: string): Record<string, unknown> {
  const { cookie: _cookie, ...about } = (session ?? {}) as { cookie?: string }
  return { ...rest, returnTo: returnTo?.slice(0, -id.length), ...(session && { session: about }) }
}
