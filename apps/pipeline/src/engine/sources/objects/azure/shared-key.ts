import { createHmac } from 'node:crypto'
import { SourceProblem } from '../../source.ts'
import { apiVersion } from './azure-config.ts'

/** Lines of what is signed that a GET leaves empty: encoding, language, length, MD5, type, date, conditions; the range is its own. */
const empty = '\n'.repeat(5)

/**
 * The headers of a GET, signed by Azure's Shared Key; as they are where there is no key. Throws AUTHENTICATION_FAILED for a
 * key that is none.
 */
export function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { account, accountKey }: { account: string; accountKey?: string },
  date = new Date(),
): Headers {
  const all = new Headers({ ...headers, 'x-ms-date': date.toUTCString(), 'x-ms-version': apiVersion })
  if (accountKey === undefined) return all
  const signature = createHmac('sha256', keyOf(accountKey))
    .update(textToSign(url, all, account))
    .digest('base64')
  all.set('authorization', `SharedKey ${account}:${signature}`)
  return all
}

/** As the service puts it together itself. */
export function textToSign(url: URL, headers: Headers, account: string): string {
  const own = [...headers]
    .filter(([name]) => name.startsWith('x-ms-'))
    .map(([name, value]) => `${name}:${value.trim()}\n`)
  const conditions = ['', headers.get('if-match') ?? '', '', '', headers.get('range') ?? ''].join('\n')
  const names = [...new Set(url.searchParams.keys())].toSorted()
  const query = names.map((name) => `\n${name.toLowerCase()}:${url.searchParams.getAll(name).toSorted().join(',')}`)
  return `GET\n${empty}\n${conditions}\n${own.toSorted().join('')}/${account}${url.pathname}${query.join('')}`
}

function keyOf(accountKey: string): Buffer {
  const text = accountKey.trim()
  if (!/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) {
    const said = 'The account key is not one: it is Base64, some 88 signs. Copy it whole from the storage account.'
    throw new SourceProblem('AUTHENTICATION_FAILED', said)
  }
  return Buffer.from(text, 'base64')
}
