import type { DatabaseConfig, DatabaseLimits } from '../database-config.ts'

/** A name in the settings holds what would mean something else to the driver. */
export class UnsupportedName extends Error {
  override readonly name = 'OddName'
  readonly code: 'HOST_UNKNOWN' | 'DATABASE_MISSING'

  constructor(code: UnsupportedName['code']) {
    super('not a name')
    this.code = code
  }
}

/** The driver's own language for where a database is. Brackets in a name would be part of that language. */
export function connectString({ host, port, database, ssl }: DatabaseConfig, limits: DatabaseLimits): string {
  if (!/^[\w.:-]{1,255}$/.test(host)) throw new UnsupportedName('HOST_UNKNOWN')
  if (!/^[\w.$#-]{1,255}$/.test(database)) throw new UnsupportedName('DATABASE_MISSING')
  const seconds = Math.max(1, Math.ceil(limits.signIn / 1000))
  const address = `(address=(protocol=${ssl ? 'tcps' : 'tcp'})(host=${host})(port=${port}))`
  return `(description=(connect_timeout=${seconds})(transport_connect_timeout=${seconds})(expire_time=1)${address}(connect_data=(service_name=${database})))`
}
