import { SourceProblem } from '@sluice/row-stream'

/**
 * Returns the access key unchanged. It is sent in a header, so this function throws `SourceProblem`
 * AUTHENTICATION_FAILED if it contains white space or other characters that a header cannot contain.
 */
export function assertAccessKey(accessKey: string): string {
  if (/^[\x21-\x7e]+$/.test(accessKey)) return accessKey
  throw new SourceProblem(
    'AUTHENTICATION_FAILED',
    'The access key contains a space or a character outside of ASCII. Copy the key again.',
  )
}
