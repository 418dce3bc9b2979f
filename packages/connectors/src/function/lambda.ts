import type { SourceSecrets, SourceChoice } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseList, parseObject, toText } from '../http-connector/parse-response.ts'
import type { HttpSession, SystemConnection, UnsignedRequest } from '../http-connector/http-session.ts'
import { type SettingsOf, requireSecret } from '../http-connector/http-system.ts'
import { detectEndlessPaging } from '../http-connector/paging.ts'
import { AwsV4Signer } from 'aws4fetch'
import { assertAccessKey } from '../object-store/assert-access-key.ts'

type LambdaFunction = SettingsOf<'FUNCTION'>['functionSource']

const name = 'AWS Lambda'
const arn = /^(?:arn:[^:]+:lambda:)?(?<region>[a-z]{2}(?:-[a-z]+)+-\d):/
const functions = '2015-03-31/functions'

/** Connects to AWS Lambda in the region of the function with the access key. */
export function lambda(place: LambdaFunction, secrets: SourceSecrets): SystemConnection {
  const key = {
    accessKeyId: requireSecret(secrets, 'accessKey', 'an access key that may invoke the function'),
    secretAccessKey: requireSecret(secrets, 'secretKey', 'the secret key of the access key'),
  }
  const region = regionOf(place)
  const country = region.startsWith('cn-') ? '.cn' : ''
  return {
    url: place.url ?? `https://lambda.${region}.amazonaws.com${country}`,
    sign: (request) => awsSignature(request, key, region),
  }
}

/** Returns the region of the ARN, or else that of the settings. */
function regionOf({ functionName = '', region }: LambdaFunction): string {
  const said = arn.exec(functionName)?.groups?.['region']
  if (said !== undefined) return said
  if (region !== undefined && region !== 'DEFAULT') return region.toLowerCase().replaceAll('_', '-')
  throw new SourceProblem(
    'REGION_MISSING',
    'Nothing says in which region of AWS Lambda the function is: give the pipeline its region, or the ARN of the function.',
  )
}

export function invocationPath({ functionName = '', qualifier }: LambdaFunction): string {
  const version = qualifier === undefined ? '' : `?Qualifier=${encodeURIComponent(qualifier)}`
  return `${functions}/${encodeURIComponent(functionName)}/invocations${version}`
}

/**
 * Awaits a request and distinguishes rejected access keys from errors of the function, because AWS returns 403 for both.
 * Throws `SourceProblem` AUTHENTICATION_FAILED.
 */
export async function keyTold<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof SourceProblem) || error.code !== 'PERMISSION_DENIED') throw error
    const [, said] = /It says: (.*(?:signature|security token|credential).*)$/i.exec(error.message) ?? []
    if (said === undefined) throw error
    throw new SourceProblem(
      'AUTHENTICATION_FAILED',
      `AWS refuses the access key (403): check it, its secret key, and that the clock of this server is right. It says: ${said}`,
      { cause: error },
    )
  }
}

const mostFunctions = 20_000

/** Lists all functions of the region that the account may list, page by page. */
export async function functionsOf(http: HttpSession): Promise<SourceChoice[]> {
  const found: SourceChoice[] = []
  const told = detectEndlessPaging(name)
  let marker: string | undefined
  do {
    const query = { MaxItems: 50, Marker: marker }
    const answer = await keyTold(http.getJson(`${functions}/`, { query, subject: 'The list of functions' }))
    const before = found.length
    for (const one of parseList(answer, name, 'Functions')) {
      const { FunctionName, FunctionArn } = parseObject(one, name)
      const [called, id] = [toText(FunctionName), toText(FunctionArn)]
      if (called !== undefined && id !== undefined) found.push({ id, code: called, name: called })
    }
    told(found.length > before)
    const next = toText(parseObject(answer, name)['NextMarker'])
    marker = next === marker ? undefined : next
  } while (marker !== undefined && found.length < mostFunctions)
  return found
}

interface AwsKey {
  accessKeyId: string
  secretAccessKey: string
}

/** Returns the additional headers of a request to AWS Lambda: AWS Signature Version 4 with the current time. Throws `SourceProblem`. */
async function awsSignature(
  { method, url, headers, body }: UnsignedRequest,
  key: AwsKey,
  region: string,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    accessKeyId: assertAccessKey(key.accessKeyId),
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
