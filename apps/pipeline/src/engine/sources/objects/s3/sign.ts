import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { demandAccessKey } from '../../demand-access-key.ts'
import type { S3Config } from './s3-config.ts'

const nothing = createHash('sha256').digest('hex')

/** The headers of a GET, signed by AWS Signature Version 4 as whoever the config names; as they are where it names nobody. Throws SourceProblem. */
export async function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { accessKey, secretKey }: S3Config,
  region: string,
): Promise<Headers> {
  if (accessKey === undefined || secretKey === undefined) return new Headers(headers)
  const signer = new AwsV4Signer({
    method: 'GET',
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': nothing },
    accessKeyId: demandAccessKey(accessKey),
    secretAccessKey: secretKey,
    service: 's3',
    region,
  })
  return (await signer.sign()).headers
}
