import type { RequestHandler } from 'express'

/** Bytes. The provider's own limit is 56 KiB; anybody may send a form here. */
const mostBytes = 16_384

/**
 * Refuses a form that is compressed, longer than 16 KiB, or of unknown length, before it is read. Answers as RFC 6749 has it: the
 * address is one of OAuth.
 */
export const limitFormBody: RequestHandler = ({ headers }, response, next) => {
  const refuse = (status: number, error_description: string) =>
    response.status(status).set('Cache-Control', 'no-store').json({ error: 'invalid_request', error_description })
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return refuse(415, 'the body must not be compressed')
  if (headers['transfer-encoding'] !== undefined) return refuse(411, 'the body needs a Content-Length')
  if (Number(headers['content-length'] ?? 0) > mostBytes)
    return refuse(413, `the body has more than ${mostBytes} bytes`)
  next()
}
