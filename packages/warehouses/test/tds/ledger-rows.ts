import { gone, type Rule, texts } from './response-rules.ts'

interface Row {
  entry_key: string
  part: number
  entry: string
}

type Ledger = Map<string, Row[]>
type Change = (ledger: Ledger) => void

/**
 * Stores the rows of the ledger tables by table name. Each session has a transaction; other sessions see its rows after
 * the commit.
 */
export function ledgerRows() {
  const shared: Ledger = new Map()
  const open = new Map<object, Change[]>()

  /** What is committed just now, and the session's own changes over it. */
  function seenBy(session: object): Ledger {
    const own = open.get(session)
    if (!own || own.length === 0) return shared
    const seen = structuredClone(shared)
    for (const change of own) change(seen)
    return seen
  }
  function write(session: object, change: Change): undefined {
    const own = open.get(session)
    if (own) own.push(change)
    else change(shared)
    return undefined
  }
  return {
    begin: (session: object) => void open.set(session, []),
    end(session: object, how: 'COMMIT' | 'ROLLBACK') {
      if (how === 'COMMIT') for (const change of open.get(session) ?? []) change(shared)
      open.delete(session)
    },
    isOpen: (session: object) => open.has(session),
    /** Of which something is committed. */
    has: (table: string, entry_key?: string) =>
      (shared.get(table) ?? []).some((row) => entry_key === undefined || row.entry_key === entry_key),
    rules(home: string): Rule[] {
      const table = String.raw`\[${home}\]\.\[(\w+)\]`
      return [
        [
          new RegExp(`^select count\\(\\*\\) as n from ${table}`),
          ([, name], _, session) => {
            const rows = seenBy(session).get(name!)
            return rows ? texts(['n'], [[rows.length]]) : gone(name!)
          },
        ],
        [new RegExp(`^create table ${table}`), ([, name]) => void shared.set(name!, [])],
        [
          new RegExp(`^select \\w+ as entry_key, part, entry from ${table}( where)?`),
          ([, name, some], [entry_key], session) =>
            texts(
              ['entry_key', 'part', 'entry'],
              seenBy(session)
                .get(name!)!
                .filter((row) => !some || row.entry_key === entry_key)
                .map((row) => [row.entry_key, row.part, row.entry]),
            ),
        ],
        [
          new RegExp(`^delete from ${table}`),
          ([, name], [entry_key], session) =>
            write(session, (ledger) =>
              ledger.set(
                name!,
                ledger.get(name!)!.filter((row) => row.entry_key !== entry_key),
              ),
            ),
        ],
        [
          new RegExp(`^insert into ${table}`),
          ([, name], [entryKey, part, entry], session) => {
            const row = { entry_key: String(entryKey), part: Number(part), entry: String(entry) }
            write(session, (ledger) => ledger.get(name!)!.push(row))
            return { count: 1 }
          },
        ],
      ]
    },
  }
}
