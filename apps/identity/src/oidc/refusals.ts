import type { PageTexts } from '../pages/texts/en.ts'

/** What pages say of requests that applications made wrong, by OAuth's error code. */
const kinds = new Map<string, 'unknown' | 'wrongAddress' | 'wrongRequest' | 'broken' | 'ended'>([
  ['invalid_client', 'unknown'],
  ['invalid_redirect_uri', 'wrongAddress'],
  ['invalid_request', 'wrongRequest'],
  ['invalid_scope', 'wrongRequest'],
  ['invalid_target', 'wrongRequest'],
  ['unauthorized_client', 'wrongRequest'],
  ['unsupported_response_type', 'wrongRequest'],
  ['server_error', 'broken'],
  ['session_not_found', 'ended'],
])

/** The sentences for one of OAuth's error codes; `session_not_found` is ours. */
export const refusalIn = ({ application }: PageTexts, code: string): { title: string; text: string } =>
  application[kinds.get(code) ?? 'other']
