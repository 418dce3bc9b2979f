import type { DatabaseConfig, DatabaseLimits } from '../database-connector/database-config.ts'

/** A name in the settings contains characters with a special meaning for the driver. */
export class UnsupportedName extends Error {
  override readonly name = 'OddName'
  readonly code: 'HOST_UNKNOWN' | 'DATABASE_MISSING'

  constructor(code: UnsupportedName['code']) {
    super('not a name')
    this.code = code
  }
}

/** Returns the address of the database in the driver's own syntax. Brackets in a name would be part of that syntax. */
export function connectString({ host, port, database, ssl }: DatabaseConfig, limits: DatabaseLimits): string {
  if (!/^[\w.:-]{1,255}$/.test(host)) throw new UnsupportedName('HOST_UNKNOWN')
  if (!/^[\w.$#-]{1,255}$/.test(database)) throw new UnsupportedName('DATABASE_MISSING')
  const seconds = Math.max(1, Math.ceil(limits.signIn / 1000))
  const address = `(address=(protocol=${ssl ? 'tcps' : 'tcp'})(host=${host})(port=${port}))`
  return `(description=(connect_timeout=${seconds})(transport_connect_timeout=${seconds})(expire_time=1)${address}(connect_data=(service_name=${database})))`
}
