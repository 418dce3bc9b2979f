import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import { fewerAtOnce } from '../http/fewer-at-once.ts'

const pageSize = 1_000

/** The feed of changes of CouchDB: every document once, as it is now, behind a place in the feed that only the server understands. */
export async function* changes(
  http: Http,
  cursor: unknown,
): AsyncGenerator<{ results: readonly unknown[]; last: string }, void, void> {
  let since = textOf(cursor) ?? '0'
  let most = pageSize
  for (;;) {
    const from = since
    const { answer, limit } = await fewerAtOnce(most, (some) =>
      http.json('medic/_changes', {
        what: 'The feed of changes',
        query: { since: from, limit: some, include_docs: true, seq_interval: some },
      }),
    )
    most = limit
    const results = listIn(answer, 'CouchDB', 'results')
    const { last_seq: last, pending } = fieldsOf(answer, 'CouchDB')
    since = textOf(last) ?? from
    // A place may be written in another way each time: where nothing is new, the old one stays.
    if (results.length === 0) return
    yield { results, last: since }
    if (pending === 0 || since === from) return
  }
}
