import type { Kysely } from 'kysely'
import type { Actor } from '@sluice/http'
import type { Write } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { MailConfig } from '../../mail/outbox.ts'

/** What using a link needs: what an operation has, and what a page can make. */
export interface LinkContext {
  db: Kysely<DB>
  write: Write<DB>
  config: MailConfig
  request: { audit(object: string | null, details?: object, by?: Actor): void }
}
