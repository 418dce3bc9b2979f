import { AwsV4Signer } from 'aws4fetch'
import { demandAccessKey } from '../../demand-access-key.ts'
import type { Unsigned } from '../http/connection.ts'

interface Key {
  accessKeyId: string
  secretAccessKey: string
}

/** The headers that a request to AWS Lambda needs besides its own: AWS Signature Version 4, of this moment. Throws SourceProblem. */
export async function awsSignature(
  { method, url, headers, body }: Unsigned,
  key: Key,
  region: string,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    accessKeyId: demandAccessKey(key.accessKeyId),
    secretAccessKey: key.secretAccessKey,
    method,
    url: url.href,
    headers: { ...headers },
    service: 'lambda',
    region,
    ...(body !== undefined && { body }),
  })
  const signed = (await signer.sign()).headers
  const own = Object.keys(headers).map((name) => name.toLowerCase())
  return Object.fromEntries([...signed].filter(([name]) => name !== 'host' && !own.includes(name)))
}
