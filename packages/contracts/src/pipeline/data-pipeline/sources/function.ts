import { Type } from 'typebox'
import { access } from '../source-access.ts'
import { regions } from '../database-query.ts'
import { Address, field, Name, secret } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

export const functionAccess = access(
  'FunctionPlace',
  {
    url: Type.Optional(
      field(
        Address,
        'Address',
        'The address of the function; with the name of a function, the endpoint of AWS Lambda.',
        'https://example.org/rows',
      ),
    ),
    functionName: Type.Optional(
      field(
        Type.String({ minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9:_$/-]+$' }),
        'Function',
        'The name or ARN of a function of AWS Lambda; absent if the address is that of the function.',
        'monthly-cases',
      ),
    ),
    qualifier: Type.Optional(field(Name, 'Version', 'The version or alias in AWS Lambda.', 'live')),
    region: Type.Optional(field(Type.Enum([...regions]), 'Region', 'The region of AWS Lambda.', 'EU_WEST_1')),
    headerName: Type.Optional(
      field(
        Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
        'Header',
        'The header with the token; Authorization with a bearer token when absent.',
        'x-functions-key',
      ),
    ),
  },
  {
    authToken: secret('Token', 'The token for the address.', 'a-token-of-the-function', 4000),
    accessKey: secret('Access key', 'The id of the access key of AWS Lambda.', 'AKIAIOSFODNN7EXAMPLE'),
    secretKey: secret('Secret key', 'The secret key of the access key.', 'the secret key'),
  },
)

const functionDescriptions = {
  payload: Type.Optional(
    field(
      Type.Object({}, { maxProperties: 200 }),
      'Payload',
      'The parameters of each call, in addition to the cursor.',
      {
        country: 'KE',
      },
    ),
  ),
}

/** AWS Lambda, or any function with an HTTP address, that returns rows. */
export const functionCall = variant(connectorTypes.functionCall, {
  given: { functionSource: functionAccess.given, ...functionDescriptions },
  answered: { functionSource: functionAccess.answered, ...functionDescriptions },
})
