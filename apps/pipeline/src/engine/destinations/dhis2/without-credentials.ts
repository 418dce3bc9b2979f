import type { Target } from '../target.ts'

/** What a server said, without the password or token that it may have said back, as one line of 500 characters at most. */
export function withoutCredentials(text: string, { username, password, authToken }: Target): string {
  const basic = password === undefined ? undefined : Buffer.from(`${username ?? ''}:${password}`).toString('base64')
  const secrets = [password, authToken, basic].filter((secret) => secret !== undefined && secret !== '')
  const spellings = secrets.flatMap((secret) => [
    secret!,
    encodeURIComponent(secret!),
    JSON.stringify(secret).slice(1, -1),
  ])
  const hidden = spellings
    .toSorted((one, other) => other.length - one.length)
    .reduce((words, spelling) => words.replaceAll(spelling, '[redacted]'), text)
  return hidden
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, 500)
}
