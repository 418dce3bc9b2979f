import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gunzipSync } from 'node:zlib'
import { AwsV4Signer } from 'aws4fetch'
import { DatabaseError } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { connected, superuserUrl } from './scratch-warehouse.ts'

/** The bucket as the cluster's role reads it. */
export interface ReadableBucket {
  endpoint: string
  accessKey: string
  secretKey: string
  region: string
}

interface Surroundings {
  database: string
  bucket: ReadableBucket
  role: string
}

const shape =
  /^copy (?<place>"(?:[^"]|"")*"\."(?:[^"]|"")*") \((?<columns>[\s\S]*)\)\nfrom 's3:\/\/(?<manifest>[^']*)' iam_role '(?<role>[^']*)' region '(?<region>[^']*)'\nmanifest format as csv gzip null as '(?<none>[^']*)' roundec maxerror 0 statupdate on$/

/** What the cluster does: reads the manifest and each object of it as its role, and copies all rows or none. */
export async function copyFromBucket(text: string, { database, bucket, role }: Surroundings): Promise<number> {
  const asked = shape.exec(text)?.groups
  if (!asked) throw new Error(`syntax error at or near "${text.slice(0, 60)}"`)
  if (asked['role'] !== role)
    throw new Error(`User arn:aws:redshift is not authorized to assume IAM Role ${asked['role']}`)
  if (asked['region'] !== bucket.region) throw new Error('S3ServiceException: the bucket is in another region')
  const { entries } = JSON.parse((await get(bucket, asked['manifest']!)).toString()) as {
    entries: { url: string; mandatory: boolean }[]
  }
  await using client = await connected(superuserUrl(database))
  let rows = 0
  await client.query(`set timezone = 'UTC'; begin`)
  for (const { url } of entries) {
    const file = url.replace(/^s3:\/\//, '')
    const text_ = `copy ${asked['place']} (${asked['columns']}) from stdin with (format csv, null '${asked['none']}')`
    const copy = client.query(copyFrom(text_))
    try {
      await pipeline(Readable.from([gunzipSync(await get(bucket, file))]), copy)
    } catch (error) {
      await client.query('rollback')
      await remember(database, url, error)
      throw new Error(`Load into table failed.  Check 'sys_load_error_detail' system table for details.`, {
        cause: error,
      })
    }
    rows += copy.rowCount
  }
  await client.query('commit')
  return rows
}

async function remember(database: string, file: string, error: unknown): Promise<void> {
  if (!(error instanceof DatabaseError)) throw error
  const [, line = '0', column = ''] = /line (\d+)(?:, column "?([^":]+)"?)?/.exec(error.where ?? '') ?? []
  await using superuser = await connected(superuserUrl(database))
  await superuser.query(
    'insert into pg_catalog.sys_load_error_detail (file_name, line_number, column_name, error_message) values ($1, $2, $3, $4)',
    [file, line, column, error.message.slice(0, 256)],
  )
}

async function get({ endpoint, accessKey, secretKey, region }: ReadableBucket, path: string): Promise<Buffer> {
  const url = new URL(`${endpoint}/${path}`)
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, service: 's3', region }
  const { headers } = await new AwsV4Signer({ method: 'GET', url: url.href, ...keys }).sign()
  const response = await fetch(url, { headers })
  if (!response.ok) throw new Error(`S3ServiceException:${response.status} ${path}`)
  return Buffer.from(await response.arrayBuffer())
}
