import type { PageTexts } from '../pages/texts/en.ts'

/** Maps OAuth error codes of invalid application requests to page texts. */
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

/** Returns the page texts for an OAuth error code. Sluice adds the code `session_not_found`. */
export const refusalIn = ({ application }: PageTexts, code: string): { title: string; text: string } =>
  application[kinds.get(code) ?? 'other']
