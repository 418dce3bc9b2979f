export type RoleSettings = Readonly<Record<string, string>>

/** A worker or machine that vanished is noticed in a minute or two, and its transaction ends. */
const liveness: RoleSettings = {
  client_connection_check_interval: '1s',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
}

/** Text forms must not depend on how the server was set up. */
const forms: RoleSettings = { timezone: 'UTC', datestyle: 'ISO, YMD', search_path: 'pg_catalog', bytea_output: 'hex' }

/** One COPY may take a day. A transaction that waits for us is us hanging. */
export const loadSettings: RoleSettings = {
  ...liveness,
  ...forms,
  statement_timeout: '24h',
  lock_timeout: '30s',
  idle_in_transaction_session_timeout: '5min',
  temp_file_limit: '20GB',
}

/** Users may raise the time-outs inside their own session; ours are set again per transaction, the last is not theirs to raise. */
export const readSettings: RoleSettings = {
  ...liveness,
  ...forms,
  default_transaction_read_only: 'on',
  statement_timeout: '30s',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '1min',
  temp_file_limit: '2GB',
}
