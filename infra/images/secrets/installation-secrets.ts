import { randomBytes } from 'node:crypto'
import { databaseUrl, file, type Place } from './secret-files.ts'

/**
 * A secret of an installation: its generator, and the files that contain it. If two runs race, the first file decides.
 */
export type Secret = { name: string; make: () => string; places: [Place, ...Place[]] }

/**
 * The readers of secrets: a folder each, and the group that may read it. 1000 is `node`, 999 `postgres` in their
 * images.
 */
export const readers = {
  identity: 1000,
  pipeline: 1000,
  'warehouse-setup': 1000,
  'identity-db': 999,
  'pipeline-db': 999,
  'warehouse-db': 999,
}

/** 256 bits, in characters that need no quoting. */
const token = () => randomBytes(32).toString('base64url')
const keyRing = () => `k1:${randomBytes(32).toString('base64')}`

/** The passwords of a database container: the application's, and the superuser's for `superusers`. */
const database = (role: string, reader: string, superusers: Place[] = []): Secret[] => [
  {
    name: `${role}-db superuser password`,
    make: token,
    places: [file(`${role}-db/superuser-password`), ...superusers],
  },
  {
    name: `${role}-db application password`,
    make: token,
    places: [
      file(`${role}-db/application-password`),
      databaseUrl(`${reader}/${role}-database-url`, role, `${role}-db`),
    ],
  },
]

export const secrets: Secret[] = [
  ...database('identity', 'identity'),
  ...database('pipeline', 'pipeline'),
  ...database('warehouse', 'pipeline', [
    databaseUrl('warehouse-setup/warehouse-superuser-url', 'postgres', 'warehouse-db'),
  ]),
  { name: 'identity key ring', make: keyRing, places: [file('identity/secret-keys')] },
  { name: 'pipeline key ring', make: keyRing, places: [file('pipeline/secret-keys')] },
  { name: 'service secret', make: token, places: [file('identity/service-secret'), file('pipeline/service-secret')] },
  { name: 'console secret', make: token, places: [file('identity/console-secret')] },
]
