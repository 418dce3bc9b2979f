import { randomBytes } from 'node:crypto'
import { databaseUrl, plainFile, type SecretFile } from './secret-files.ts'

/**
 * A secret of an installation: its generator, and the files that contain it. If two runs race, the first file decides.
 */
export type Secret = { name: string; make: () => string; files: [SecretFile, ...SecretFile[]] }

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
const database = (role: string, reader: string, superusers: SecretFile[] = []): Secret[] => [
  {
    name: `${role}-db superuser password`,
    make: token,
    files: [plainFile(`${role}-db/superuser-password`), ...superusers],
  },
  {
    name: `${role}-db application password`,
    make: token,
    files: [
      plainFile(`${role}-db/application-password`),
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
  { name: 'identity key ring', make: keyRing, files: [plainFile('identity/secret-keys')] },
  { name: 'pipeline key ring', make: keyRing, files: [plainFile('pipeline/secret-keys')] },
  {
    name: 'service secret',
    make: token,
    files: [plainFile('identity/service-secret'), plainFile('pipeline/service-secret')],
  },
  { name: 'console secret', make: token, files: [plainFile('identity/console-secret')] },
]
