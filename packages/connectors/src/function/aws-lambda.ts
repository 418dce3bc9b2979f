import type { connectorTypes } from '@sluice/contracts/connector-types'
import { createOption, parseList, parseObject, toText } from '../http-connector/parse-response.ts'
import type { SourceSecrets, SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { HttpSession, HttpConnection, RequestToSign } from '../http-connector/http-session.ts'
import { type SettingsOf, requireSecret } from '../http-connector/http-system.ts'
import { createPagingCheck } from '../http-connector/paging.ts'
import { AwsV4Signer } from 'aws4fetch'
import { assertAccessKey } from '../settings/assert-access-key.ts'

type LambdaFunction = SettingsOf<typeof connectorTypes.functionCall>['functionSource']

const lambdaName = 'AWS Lambda'
const arnPattern = /^(?:arn:[^:]+:lambda:)?(?<region>[a-z]{2}(?:-[a-z]+)+-\d):/
const functionsPath = '2015-03-31/functions'

/** Returns the connection to AWS Lambda in the function's region. Requests are signed with the access key. */
export function connectToLambda(lambda: LambdaFunction, secrets: SourceSecrets): HttpConnection {
  const key = {
    accessKeyId: requireSecret(secrets, 'accessKey', 'an access key that may invoke the function'),
    secretAccessKey: requireSecret(secrets, 'secretKey', 'the secret key of the access key'),
  }
  const region = getRegion(lambda)
  // Regions in China have a domain of their own.
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return {
    url: lambda.url ?? `https://lambda.${region}.${domain}`,
    sign: (request) => createSignature(request, key, region),
  }
}

/** Returns the region from the function's ARN, or else from the settings. */
function getRegion({ functionName = '', region }: LambdaFunction): string {
  const arnRegion = arnPattern.exec(functionName)?.groups?.['region']
  if (arnRegion !== undefined) return arnRegion
  if (region !== undefined && region !== 'DEFAULT') return region.toLowerCase().replaceAll('_', '-')
  throw new SourceProblem(
    'REGION_MISSING',
    'The region of the function is unknown. Enter its region, or its ARN as the function name.',
  )
}

/** Returns the path for calling the function in the version or alias that the settings select. */
export function getInvocationPath({ functionName = '', qualifier }: LambdaFunction): string {
  const query = qualifier === undefined ? '' : `?Qualifier=${encodeURIComponent(qualifier)}`
  return `${functionsPath}/${encodeURIComponent(functionName)}/invocations${query}`
}

/**
 * Awaits a request to AWS. Throws AUTHENTICATION_FAILED instead of PERMISSION_DENIED if AWS rejected the access key,
 * because AWS returns 403 for both.
 */
export async function explainRejectedKey<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    if (!(error instanceof SourceProblem) || error.code !== 'PERMISSION_DENIED') throw error
    // The message names the access key or its signature only if AWS rejected the key itself.
    const [, errorText] = /It says: (.*(?:signature|security token|credential).*)$/i.exec(error.message) ?? []
    if (errorText === undefined) throw error
    throw new SourceProblem(
      'AUTHENTICATION_FAILED',
      `AWS rejected the access key (403). Check the access key, its secret key, and the clock of the Sluice server. It says: ${errorText}`,
      { cause: error },
    )
  }
}

const maxListedFunctions = 20_000

/** Lists the functions of the account in the region, up to about 20,000. */
export async function listFunctions(http: HttpSession): Promise<SourceOption[]> {
  const functions: SourceOption[] = []
  const assertPagingAdvances = createPagingCheck(lambdaName)
  let marker: string | undefined
  let isLastPage = false
  while (!isLastPage && functions.length < maxListedFunctions) {
    const query = { MaxItems: 50, Marker: marker }
    const response = await explainRejectedKey(
      http.getJson(`${functionsPath}/`, { query, subject: 'The list of functions' }),
    )
    const page = parseList(response, lambdaName, 'Functions').flatMap((item) => {
      const { FunctionName: title, FunctionArn: arn } = parseObject(item, lambdaName)
      return toText(title) === undefined ? [] : createOption(arn, { code: title, name: title })
    })
    functions.push(...page)
    assertPagingAdvances(page.length > 0)
    const nextMarker = toText(parseObject(response, lambdaName)['NextMarker'])
    // The same marker again would repeat this page forever.
    isLastPage = nextMarker === undefined || nextMarker === marker
    marker = nextMarker
  }
  return functions
}

interface AwsKey {
  accessKeyId: string
  secretAccessKey: string
}

/**
 * Returns the headers to add to a request to AWS Lambda, which sign it with AWS Signature Version 4. Throws
 * `SourceProblem` for an invalid key.
 */
async function createSignature(
  { method, url, headers, body }: RequestToSign,
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
  const { headers: signedHeaders } = await signer.sign()
  // The HTTP client sets the Host header, and the request already has the other headers.
  const existingNames = ['host', ...Object.keys(headers).map((name) => name.toLowerCase())]
  return Object.fromEntries([...signedHeaders].filter(([name]) => !existingNames.includes(name)))
}
