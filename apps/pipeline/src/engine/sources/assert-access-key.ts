import { SourceProblem } from './source.ts'

/** An access key of AWS and its like, which stands in a header as it is. Throws SourceProblem AUTHENTICATION_FAILED where it cannot. */
export function assertAccessKey(accessKey: string): string {
  if (/^[\x21-\x7e]+$/.test(accessKey)) return accessKey
  throw new SourceProblem(
    'AUTHENTICATION_FAILED',
    'The access key has a blank, or a sign that is not of ASCII: no access key has. Copy it again.',
  )
}
