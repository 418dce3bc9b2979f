import type { ValidateFunction } from 'ajv/dist/2020.js'
import { ajvWith } from '../ajv.ts'
import type { Contract } from '../contract.ts'
import type { Signature } from '../operation.ts'
import { ProblemDocument } from '../problem.ts'
import type { RawResponse } from './http-exchange.ts'
import { RemoteProblem, retryAfterOf, ServiceUnavailable } from './errors.ts'

/** One page of a longer list, and its position in the list. */
export interface ResultPage<T> {
  items: T
  /** Number of rows on all pages; undefined if they were not counted. */
  total: number | undefined
  page: number
  pageSize: number
  pageCount: number | undefined
}

/**
 * A service can be newer than its caller: fields that the contract does not contain are removed, and all required fields must exist.
 */
const ajv = ajvWith({ removeAdditional: true })

const compiled = new WeakMap<object, ValidateFunction>()

function checkContract<T>(contract: Contract<T>, value: unknown): { value: T } | { broken: string } {
  let validate = compiled.get(contract)
  if (!validate) compiled.set(contract, (validate = ajv.compile(contract)))
  if (validate(value)) return { value: value as T }
  const [{ instancePath, message } = { instancePath: '', message: '' }] = validate.errors ?? []
  return { broken: `${instancePath || '/'} ${message}` }
}

/** Throws `ServiceUnavailable` for 502, 503 and 504, which mean that nothing was done and a retry may succeed. */
export function assertAvailable(answer: RawResponse): RawResponse {
  const { status, headers } = answer
  if (status < 502 || status > 504) return answer
  const problem = problemOf(answer)
  const detail = problem?.detail ?? `It answers ${status}.`
  throw new ServiceUnavailable('overloaded', detail, { retryAfter: retryAfterOf(headers.get('retry-after')), problem })
}

/** Returns the body that the signature declares. Throws `RemoteProblem`, or `ServiceUnavailable` for an unexpected response. */
export function bodyOf<Response>(
  { id, response }: Signature<string, any, any, Response>,
  { status, headers, text }: RawResponse,
): Response {
  if (status >= 400) {
    const document = problemOf({ status, headers, text }) ?? undocumentedProblem(id, status)
    throw new RemoteProblem(document, retryAfterOf(headers.get('retry-after')))
  }
  if (status < 200 || status > 299) throw malformedAnswer(id, `status ${status}`)
  if (!response) return undefined as Response
  const checked = checkContract(response, parsed(id, headers, text))
  if ('broken' in checked) throw malformedAnswer(id, checked.broken)
  return checked.value
}

export function pageOf<T>(items: T, headers: Headers): ResultPage<T> {
  const count = (name: string) => {
    const header = headers.get(name)
    return header !== null && /^\d+$/.test(header) ? Number(header) : undefined
  }
  return {
    items,
    total: count('x-total-count'),
    page: count('x-page') ?? 1,
    pageSize: count('x-page-size') ?? (Array.isArray(items) ? items.length : 0),
    pageCount: count('x-page-count'),
  }
}

function parsed(id: string, headers: Headers, text: string): unknown {
  const type = headers.get('content-type') ?? 'nothing'
  if (!/^application\/json\b/i.test(type)) throw malformedAnswer(id, `${type} instead of JSON`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformedAnswer(id, 'what is not JSON', cause)
  }
}

function problemOf({ headers, text }: RawResponse): ProblemDocument | undefined {
  if (!/^application\/problem\+json\b/i.test(headers.get('content-type') ?? '')) return undefined
  try {
    const checked = checkContract(ProblemDocument, JSON.parse(text))
    return 'value' in checked ? checked.value : undefined
  } catch {
    return undefined
  }
}

/** A proxy rejected the request with a response of its own. */
const undocumentedProblem = (id: string, status: number): ProblemDocument => ({
  type: `urn:problem:http-${status}`,
  title: `${id} was refused.`,
  status,
  detail: `${id} was answered with ${status} and no explanation.`,
  code: `http-${status}`,
})

const malformedAnswer = (id: string, what: string, cause?: unknown) =>
  new ServiceUnavailable('malformed-answer', `The answer to ${id} breaks its contract: ${what}.`, { cause })
