import { readerLimits } from '../../warehouse-reader-logins.ts'
import { WarehouseProblem } from '../../warehouse.ts'

export type RoleSettings = Readonly<Record<string, string>>

/** Keepalive settings. The server notices within two minutes that a worker is gone, and ends its transaction. */
const keepaliveSettings: RoleSettings = {
  client_connection_check_interval: '1s',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
}

/** Fixed text formats of values, so that they do not depend on the server's configuration. */
const textFormatSettings: RoleSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  search_path: 'pg_catalog',
  bytea_output: 'hex',
}

/** Settings that could otherwise end Sluice's sessions or change their meaning. */
const pinnedSettings: RoleSettings = {
  transaction_timeout: '0',
  idle_session_timeout: '0',
  exit_on_error: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  standard_conforming_strings: 'on',
}

/** Time-outs of role `load`. A COPY may take a day; an idle transaction means that this process hangs. */
const loadTimeouts: RoleSettings = {
  statement_timeout: '24h',
  lock_timeout: '30s',
  idle_in_transaction_session_timeout: '5min',
}

/** Defaults of role `load`. */
export const loadSettings: RoleSettings = {
  ...keepaliveSettings,
  ...textFormatSettings,
  ...loadTimeouts,
  temp_file_limit: '20GB',
}

/**
 * Settings for each connection of role `load`. Users' SQL also runs as `load` and may change the role's defaults (ALTER
 * ROLE … SET). Settings of the connection take precedence over those defaults.
 */
export const loadOptions = formatStartupOptions({
  ...textFormatSettings,
  ...pinnedSettings,
  ...loadTimeouts,
  default_transaction_read_only: 'off',
})

/**
 * Defaults of role `read`. Users may raise the time-outs within their session, but Sluice sets its own again in each
 * transaction. Users cannot raise the last setting.
 */
export const readSettings: RoleSettings = {
  ...keepaliveSettings,
  ...textFormatSettings,
  default_transaction_read_only: 'on',
  statement_timeout: '30s',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '1min',
  // Loads wait for queries that read their tables, so queries have a time limit.
  transaction_timeout: '1h',
  temp_file_limit: '2GB',
}

/**
 * Defaults of a reader's sessions. A session may change them, except `temp_file_limit`. Readers cannot write because
 * they lack the privileges, and `readerSessions` enforces the time limits.
 */
export const readerSettings: RoleSettings = {
  ...keepaliveSettings,
  default_transaction_read_only: 'on',
  statement_timeout: `${readerLimits.statementSeconds}s`,
  lock_timeout: '1min',
  idle_in_transaction_session_timeout: `${readerLimits.idleInTransactionSeconds}s`,
  transaction_timeout: `${readerLimits.transactionSeconds}s`,
  temp_file_limit: '2GB',
}

/** Settings for each connection of role `read` that Sluice opens. They take precedence over the role's defaults. */
export const readOptions = formatStartupOptions({
  ...textFormatSettings,
  ...pinnedSettings,
  default_transaction_read_only: 'on',
})

/** Formats settings as the startup parameter `options`, such as `-c timezone=UTC -c datestyle=ISO,\ YMD`. */
function formatStartupOptions(settings: RoleSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', String.raw`\ `)}`)
    .join(' ')
}

/** The settings with which role `load` is provisioned, as `name=value` in lower case, for `selectChangedSetting`. */
export const expectedSettings = Object.entries(loadSettings).map(([name, value]) => `${name}=${value}`.toLowerCase())

/**
 * Selects the name of one default of role `load` that differs from `$1`, which is `expectedSettings`. Selects no row if
 * all are as expected. Ignores settings that only a superuser can change. Reads `pg_settings`, which lists all settings
 * in the server, only for a changed one.
 */
export const selectChangedSetting = `
  select changed.name from (
    select (
      select s.name from pg_settings s where lower(s.name) = lower(split_part(one, '=', 1)) and s.context = 'user'
    ) as name
    from pg_db_role_setting d, unnest(d.setconfig) one
    where d.setrole = current_user::regrole and (d.setdatabase <> 0 or lower(one) <> all($1))
  ) changed where changed.name is not null limit 1`

/** Throws WAREHOUSE_OUTDATED if role `load` changed a session default; provisioning repairs it. */
export function assertRoleSettings(changedSetting: string | null): void {
  if (changedSetting !== null)
    throw new WarehouseProblem(
      'WAREHOUSE_OUTDATED',
      `The default ${changedSetting} of the warehouse’s load role was changed. Provision the warehouse again.`,
    )
}
