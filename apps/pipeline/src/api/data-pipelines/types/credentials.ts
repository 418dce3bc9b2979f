import { problems } from '@sluice/http'
import type { SourceSecrets } from '../../../source-secrets.ts'

/** Refuses all but one of several ways to say who asks. None is one as well: some sources let anybody in. */
export function demandOneWay(secrets: SourceSecrets, field: string, ways: Readonly<Record<string, string>>): void {
  const given = Object.keys(ways).filter((name) => name in secrets)
  if (given.length > 1)
    throw problems.refused(
      `/${field}/${given[1]}`,
      `Either ${ways[given[0]!]} or ${ways[given[1]!]}: send null for the one that is not meant.`,
    )
}

/** Refuses one half of a pair of keys. */
export function demandPair(secrets: SourceSecrets, field: string): void {
  const [key, secret] = ['accessKey' in secrets, 'secretKey' in secrets]
  if (key !== secret)
    throw problems.refused(
      `/${field}/${key ? 'secretKey' : 'accessKey'}`,
      'An access key and its secret key go together: send both, or null for both.',
    )
}

/** Refuses a password of nobody. */
export function demandUsername(username: string | undefined, secrets: SourceSecrets, field: string): void {
  if ('password' in secrets && username === undefined)
    throw problems.refused(`/${field}/username`, 'Say whose password that is.')
}
