import { sql, type Kysely } from 'kysely'
import type { Logger } from '@sluice/process'
import type { DB } from '../database.ts'

/** An event that happens too often to write an audit row for each one. */
export interface TalliedEvent {
  operation: string
  /** The client id that the request claims, which may be unverified. */
  application: string
  /** Whether the application authenticated successfully. */
  proven: boolean
  /** The uid of the affected user. */
  user?: string
  outcome?: string
  address: string
}

export interface AuditTally {
  count(event: TalliedEvent): void
  /** Writes the counts to the audit log. Keeps counts that it cannot write for the next flush. */
  flush(): Promise<void>
}

interface TallyEntry extends Omit<TalliedEvent, 'address'> {
  count: number
  from: Date
  until: Date
  addresses: Set<string>
}

const flushIntervalMs = 60_000
/** The maximum number of counters, which limits memory, because unauthenticated requests choose some of the keys. */
const maxEntries = 1_000
const maxAddresses = 10

/**
 * Counts events of applications. Once a minute, writes one audit row with the count for each application, user and
 * outcome. A process that crashes loses its unwritten counts.
 */
export function createAuditTally(db: Kysely<DB>, logger: Logger): AuditTally {
  let entries = new Map<string, TallyEntry>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  function add(entry: TallyEntry): void {
    const key = JSON.stringify([entry.operation, entry.application, entry.proven, entry.user, entry.outcome])
    const existing = entries.get(key)
    if (!existing) {
      const isFull = entries.size >= maxEntries
      // Above the maximum, events of new applications share one counter without an application name.
      if (isFull && entry.application !== '') add({ ...entry, application: '' })
      else entries.set(key, entry)
      return
    }
    existing.count += entry.count
    if (entry.from < existing.from) existing.from = entry.from
    if (entry.until > existing.until) existing.until = entry.until
    for (const address of entry.addresses) if (existing.addresses.size < maxAddresses) existing.addresses.add(address)
  }

  const scheduleFlush = () => {
    timer ??= setTimeout(() => void flush(), flushIntervalMs).unref()
  }

  async function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (entries.size === 0) return
    const entriesToWrite = entries
    entries = new Map()
    try {
      await sql`
        insert into audit (operation, actor, client, object, request_id, address, details)
        select events.operation, coalesce(events."user", case when events.proven then applications.uid end),
          coalesce(applications.client, users.client), events.application, '', events.address, events.details
        from jsonb_to_recordset(${JSON.stringify([...entriesToWrite.values()].map(toAuditRow))}) as events(
          operation text, application text, proven boolean, "user" uuid, address text, details jsonb)
        left join sso_client_configs applications on applications.sso_client_id = events.application
        left join users on users.uid = events."user"`.execute(db)
    } catch (error) {
      logger.error(
        { err: error },
        'the counts of applications could not be written to the audit log; the next try is in a minute',
      )
      for (const entry of entriesToWrite.values()) add(entry)
      scheduleFlush()
    }
  }

  /** Writes the counts. Concurrent flushes run one after the other. */
  function flush(): Promise<void> {
    flushing = flushing.then(write)
    return flushing
  }

  return {
    count({ address, ...event }) {
      const now = new Date()
      const application = parseApplicationId(event.application)
      add({ ...event, application, count: 1, from: now, until: now, addresses: new Set([address]) })
      scheduleFlush()
    },
    flush,
  }
}

/** Returns a claimed client id if it is syntactically valid, otherwise an empty string. */
const parseApplicationId = (value: string): string => (/^[ -~]{2,255}$/.test(value) ? value : '')

/**
 * Returns the columns of the audit row of a counter. The row has one address, like other audit rows; the details list
 * all that were counted.
 */
const toAuditRow = ({ operation, application, proven, user, outcome, count, from, until, addresses }: TallyEntry) => ({
  operation,
  application: application || null,
  proven,
  user: user ?? null,
  address: [...addresses][0] ?? '',
  details: {
    count,
    ...(outcome !== undefined && { outcome }),
    from: from.toISOString(),
    until: until.toISOString(),
    addresses: [...addresses],
  },
})
