import { account, key, startFunction, startLambda } from './function-server.ts'
import type { Scene } from '../../../test/scene.ts'
import type { Request } from '../../../test/stand-in.ts'

const token = 'a-token-of-the-function'
const whole = 'A function has no increments: each run reads everything and replaces the rows.'

const both = {
  type: 'FUNCTION',
  without: { increment: whole, edit: whole },
  columns: { id: 'id', name: 'name', extra: 'extra' },
  group: { table: '__children', column: 'called' },
} as const

export async function addressed() {
  const started = await startFunction('x-functions-key', token)
  const url = `${started.server.url}/api/people/?version=2`
  return {
    ...started,
    settings: { type: 'FUNCTION', functionSource: { url, headerName: 'X-Functions-Key' }, payload: { country: 'KE' } },
    secrets: { authToken: token },
    isPage: ({ method }: Request) => method === 'POST',
  }
}

export async function invoked() {
  const started = await startLambda()
  return {
    ...started,
    settings: { type: 'FUNCTION', functionSource: { url: started.server.url, functionName: `${account}people` } },
    secrets: { ...key },
    isPage: ({ path, headers }: Request) => path.endsWith('/invocations') && !headers['x-amz-invocation-type'],
  }
}

export const addressedFunction: Scene = {
  ...both,
  system: 'Function with a URL',
  without: { ...both.without, lookups: 'An address does not list other functions.' },
  lookups: {},
  start: addressed,
  account: {
    variables: ['SLUICE_FUNCTION_URL', 'SLUICE_FUNCTION_TOKEN'],
    settings: (values) => ({ type: 'FUNCTION', functionSource: { url: values['SLUICE_FUNCTION_URL'] } }),
    secrets: (values) => ({ authToken: values['SLUICE_FUNCTION_TOKEN']! }),
  },
}

export const lambdaFunction: Scene = {
  ...both,
  system: 'AWS Lambda',
  lookups: { functions: ['cases', 'people', 'stock'].map((name) => `${account}${name}`) },
  start: invoked,
  account: {
    variables: ['SLUICE_LAMBDA_ARN', 'SLUICE_LAMBDA_ACCESS_KEY', 'SLUICE_LAMBDA_SECRET_KEY'],
    settings: (values) => ({ type: 'FUNCTION', functionSource: { functionName: values['SLUICE_LAMBDA_ARN'] } }),
    secrets: (values) => ({
      accessKey: values['SLUICE_LAMBDA_ACCESS_KEY']!,
      secretKey: values['SLUICE_LAMBDA_SECRET_KEY']!,
    }),
  },
}
