import { SourceProblem } from '@sluice/row-stream'

/**
 * Returns an access key of AWS or a compatible store, which is sent in a header unchanged. Throws SourceProblem
 * AUTHENTICATION_FAILED if a header cannot contain it.
 */
export function assertAccessKey(accessKey: string): string {
  if (/^[\x21-\x7e]+$/.test(accessKey)) return accessKey
  throw new SourceProblem(
    'AUTHENTICATION_FAILED',
    'The access key contains a blank or a character outside of ASCII. Copy it again.',
  )
}
