import { AsyncLocalStorage } from 'node:async_hooks'

interface RequestScope {
  requestId: string
  /** W3C trace context, as it came. */
  traceparent?: string | undefined
}

/** The request in whose service something happens, however deep: for log lines, and to be passed on to other services. */
export const requestScope = new AsyncLocalStorage<RequestScope>()

/** The headers that carry the scope to another service. */
export function scopeHeaders(): Record<string, string> {
  const { requestId, traceparent } = requestScope.getStore() ?? {}
  return { ...(requestId && { 'X-Request-Id': requestId }), ...(traceparent && { traceparent }) }
}
