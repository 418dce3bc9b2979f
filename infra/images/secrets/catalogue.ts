import { randomBytes } from 'node:crypto'
import { databaseUrl, file, type Place } from './places.ts'

/** A secret of an installation: how it is made, and everywhere it is read. The first place decides when two runs race. */
export type Secret = { name: string; make: () => string; places: [Place, ...Place[]] }

/** Who reads secrets: one folder each, and the group that may read it. 1000 is `node`, 999 `postgres` in their images. */
export const readers = {
  identity: 1000,
  pipeline: 1000,
  'warehouse-setup': 1000,
  'identity-db': 999,
  'pipeline-db': 999,
  'warehouse-db': 999,
}

/** 256 bits, in letters that need no quoting anywhere. */
const token = () => randomBytes(32).toString('base64url')
const keyRing = () => `k1:${randomBytes(32).toString('base64')}`

/** The passwords of a database container: its application's, and its superuser's for whom it is said. */
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
]
