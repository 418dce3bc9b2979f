import { Type } from 'typebox'
import { defineSourceAccess } from '../source-credentials.ts'
import { cloudRegions } from '../database-query.ts'
import { SourceUrl, describeField, SourceName, defineSecretField } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'
import { RestApi } from './rest-api.ts'

export const functionAccess = defineSourceAccess(
  'FunctionPlace',
  {
    url: Type.Optional(
      describeField(
        SourceUrl,
        'Address',
        'The address of the function; with the name of a function, the endpoint of AWS Lambda.',
        'https://example.org/rows',
      ),
    ),
    functionName: Type.Optional(
      describeField(
        Type.String({ minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9:_$/-]+$' }),
        'Function',
        'The name or ARN of a function of AWS Lambda. Absent if `url` is the address of the function.',
        'monthly-cases',
      ),
    ),
    qualifier: Type.Optional(describeField(SourceName, 'Version', 'The version or alias in AWS Lambda.', 'live')),
    region: Type.Optional(
      describeField(Type.Enum([...cloudRegions]), 'Region', 'The region of AWS Lambda.', 'EU_WEST_1'),
    ),
    headerName: Type.Optional(
      describeField(
        Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
        'Header',
        'The name of the header that carries the token. Default: `Authorization`, with a bearer token.',
        'x-functions-key',
      ),
    ),
    parameterName: Type.Optional(
      describeField(
        Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9._~-]+$' }),
        'Query parameter',
        'With restApi: the query parameter that carries the token, instead of a header.',
        'api_key',
      ),
    ),
    username: Type.Optional(
      describeField(
        SourceName,
        'User name',
        'With restApi: the account that has the token as its password (HTTP Basic).',
        'reader',
      ),
    ),
  },
  {
    authToken: defineSecretField('Token', 'The token for the address.', 'a-token-of-the-function', 4000),
    accessKey: defineSecretField('Access key', 'The id of the access key of AWS Lambda.', 'AKIAIOSFODNN7EXAMPLE'),
    secretKey: defineSecretField('Secret key', 'The secret key of the access key.', 'the secret key'),
  },
)

const functionDescriptions = {
  payload: Type.Optional(
    describeField(
      Type.Object({}, { maxProperties: 200 }),
      'Payload',
      'The parameters of each call, in addition to the cursor.',
      {
        country: 'KE',
      },
    ),
  ),
  restApi: Type.Optional(RestApi),
}

/** AWS Lambda, any function with an HTTP address that returns rows, or a REST API. */
export const functionCall = definePipelineVariant(connectorTypes.functionCall, {
  requestFields: { functionSource: functionAccess.requestSchema, ...functionDescriptions },
  responseFields: { functionSource: functionAccess.responseSchema, ...functionDescriptions },
})
