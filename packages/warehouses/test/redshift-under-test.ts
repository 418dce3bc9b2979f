import { randomBytes } from 'node:crypto'
import { connected, superuserUrl, word } from './scratch-warehouse.ts'
import { swiftMissing } from '@sluice/testing/openstack-swift'
import { sharedSwift } from '@sluice/testing/shared-openstack-swift'
import { type ClientAccess, redshiftAccess, type RedshiftSettings } from '../src/redshift/redshift-settings.ts'
import { clientConfig } from '../src/redshift/connections.ts'
import { type RedshiftStandIn, redshiftStandIn } from './redshift-stand-in.ts'

const role = 'arn:aws:iam::123456789012:role/loader'
const given = process.env['REDSHIFT_TEST_URL']

/** The reason to skip tests that need Redshift or its stand-in; undefined if one is available. */
export const redshiftMissing: string | undefined = given ? undefined : swiftMissing()

/** A cluster, or what stands in for one. */
export interface RedshiftServer extends AsyncDisposable {
  /** Undefined on a cluster. */
  standIn: RedshiftStandIn | undefined
  settings: RedshiftSettings
  /** A client that no other test uses. */
  client(): ClientAccess
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The cluster of REDSHIFT_TEST_URL with the settings of its operator, or else the stand-in with OpenStack Swift as its
 * bucket.
 */
export async function redshiftServer(): Promise<RedshiftServer> {
  const parts = given ? cluster(given) : await standingIn()
  const clients: ClientAccess[] = []
  return {
    standIn: parts.standIn,
    settings: parts.settings,
    client() {
      const access = redshiftAccess(parts.settings, { key: word(), loadPassword: word(), readPassword: word() })
      clients.push(access)
      return access
    },
    async [Symbol.asyncDispose]() {
      for (const access of clients) await dropClient(access)
      await parts.end()
    },
  }
}

interface Parts {
  standIn: RedshiftStandIn | undefined
  settings: RedshiftSettings
  end(): Promise<void>
}

function cluster(url: string): Parts {
  const setting = (name: string): string => process.env[name] ?? ''
  return {
    standIn: undefined,
    settings: {
      url,
      staging: setting('REDSHIFT_STAGING'),
      role: setting('REDSHIFT_ROLE'),
      region: setting('REDSHIFT_REGION'),
      accessKey: setting('REDSHIFT_ACCESS_KEY_ID'),
      secretKey: setting('REDSHIFT_SECRET_ACCESS_KEY'),
    },
    end: async () => {},
  }
}

async function standingIn(): Promise<Parts> {
  const swift = await sharedSwift()
  const bucket = `warehouse-${randomBytes(6).toString('hex')}`
  await swift.put(bucket)
  const standIn = await redshiftStandIn(swift, role)
  const admin = word('redshift_')
  await using superuser = await connected(superuserUrl())
  // Backslashes in strings mean something there.
  await superuser.query(`create role ${admin} superuser login password '${admin}'`)
  await superuser.query(`alter role ${admin} set standard_conforming_strings = off`)
  const { endpoint, accessKey, secretKey, region } = swift
  const url = `postgres://${admin}:${admin}@127.0.0.1:${standIn.port}/postgres?sslmode=disable`
  return {
    standIn,
    settings: { url, staging: `s3://${bucket}/rows`, role, region, accessKey, secretKey, endpoint },
    async end() {
      await standIn[Symbol.asyncDispose]()
      await using client = await connected(superuserUrl())
      await client.query(`drop role ${admin}`)
    },
  }
}

/** Drops the database and the logins of a client. */
export async function dropClient(access: ClientAccess): Promise<void> {
  const { database, logins } = access
  await using client = await connected(given ? clientConfig(access, 'service', access.adminDatabase) : superuserUrl())
  await client.query(`drop database if exists "${database}"${given ? '' : ' with (force)'}`)
  for (const { user } of [logins.load, logins.read]) await client.query(`drop user if exists "${user}"`)
}
