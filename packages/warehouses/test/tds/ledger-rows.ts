import { gone, type Rule, texts } from './response-rules.ts'

interface Row {
  whose: string
  part: number
  entry: string
}

type Ledger = Map<string, Row[]>
type Change = (ledger: Ledger) => void

/** The rows of a ledger, each table by its name, with a transaction for each session: what it writes, others see when it ends. */
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
    has: (table: string, whose?: string) =>
      (shared.get(table) ?? []).some((row) => whose === undefined || row.whose === whose),
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
          new RegExp(`^select \\w+ as whose, part, entry from ${table}( where)?`),
          ([, name, some], [whose], session) =>
            texts(
              ['whose', 'part', 'entry'],
              seenBy(session)
                .get(name!)!
                .filter((row) => !some || row.whose === whose)
                .map((row) => [row.whose, row.part, row.entry]),
            ),
        ],
        [
          new RegExp(`^delete from ${table}`),
          ([, name], [whose], session) =>
            write(session, (ledger) =>
              ledger.set(
                name!,
                ledger.get(name!)!.filter((row) => row.whose !== whose),
              ),
            ),
        ],
        [
          new RegExp(`^insert into ${table}`),
          ([, name], [whose, part, entry], session) => {
            const row = { whose: String(whose), part: Number(part), entry: String(entry) }
            write(session, (ledger) => ledger.get(name!)!.push(row))
            return { count: 1 }
          },
        ],
      ]
    },
  }
}
