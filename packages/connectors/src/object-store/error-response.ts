import { SourceProblem } from '@sluice/row-stream'
import { TransientError, parseRetryAfter } from './transient-error.ts'
import { childOf, parseXml, textOf } from './xml.ts'

export interface StoreErrorResponse {
  status: number
  /** Such as `NoSuchKey`; empty if the response has none. */
  code: string
  words: string
  /** The region of the bucket, if the request went to another region. */
  region: string | undefined
  headers: Headers
}

const retryableStatuses = new Set([408, 425, 429, 500, 502, 503, 504])
const retryableCodes = new Set([
  'SlowDown',
  'RequestTimeout',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
  'ServerBusy',
  'OperationTimedOut',
])

export function parseErrorResponse(status: number, headers: Headers, body: string, host: string): StoreErrorResponse {
  const region = headers.get('x-amz-bucket-region') ?? undefined
  const plain = { status, code: headers.get('x-ms-error-code') ?? '', words: '', region, headers }
  const text = body.replace(/^\uFEFF/, '')
  if (!/^\s*</.test(text) || /^\s*<(!doctype|html)/i.test(text)) return plain
  const root = parseXml(text, host)
  const error = root.name === 'Error' ? root : childOf(root, 'Error')
  if (!error) return plain
  return {
    ...plain,
    code: textOf(error, 'Code') || plain.code,
    words: textOf(error, 'Message'),
    region: region ?? (textOf(error, 'Region') || undefined),
  }
}

export function unexplained(
  { status, code, words, headers }: StoreErrorResponse,
  { host, what, secrets }: { host: string; what: string; secrets: readonly (string | undefined)[] },
): SourceProblem | TransientError {
  let said = [code, words].filter(Boolean).join(': ')
  for (const secret of secrets) if (secret) said = said.replaceAll(secret, '…')
  const shown = said.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
  if (status < 400)
    return new SourceProblem(
      'REDIRECTED',
      `${host} leads to another address for ${what}, which is not asked. Give the region of the bucket, or the address that the store itself has.`,
    )
  const problem = new SourceProblem(
    status === 429 || code === 'SlowDown' || code === 'ServerBusy' ? 'RATE_LIMITED' : 'SOURCE_FAILED',
    `${host} answers ${status} when asked for ${what}.${shown ? ` It says: ${shown}` : ''}`,
  )
  return retryableStatuses.has(status) || retryableCodes.has(code)
    ? new TransientError(problem, parseRetryAfter(headers))
    : problem
}
