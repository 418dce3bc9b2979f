import type { DatabaseKind } from '../database-connector/database-config.ts'
import type { DatabaseEngine } from '../database-connector/session.ts'

/** Loads the engine of one database: a thread talks to one database, so the other drivers stay unloaded. */
export const engines: Record<DatabaseKind, () => Promise<DatabaseEngine>> = {
  postgres: async () => (await import('../postgres/postgres-session.ts')).postgres,
  redshift: async () => (await import('../redshift/redshift-session.ts')).redshift,
  mysql: async () => (await import('../mysql/mysql-session.ts')).mysql,
  'sql-server': async () => (await import('../sql-server/sql-server-session.ts')).sqlServer,
  oracle: async () => (await import('../oracle/oracle-session.ts')).oracle,
}
