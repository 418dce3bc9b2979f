import { Type } from 'typebox'
import { access } from '../access.ts'
import { regions } from '../database-query.ts'
import { Address, field, Name, secret } from '../field.ts'
import { connectorTypes } from '../systems.ts'
import { variant } from '../variant.ts'

export const functionAccess = access(
  'FunctionPlace',
  {
    url: Type.Optional(
      field(
        Address,
        'Address',
        'Of a function that is called by HTTPS; with the name of a function, of an own endpoint of AWS Lambda.',
        'https://example.org/rows',
      ),
    ),
    functionName: Type.Optional(
      field(
        Type.String({ minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9:_$/-]+$' }),
        'Function',
        'The name or ARN of a function of AWS Lambda; absent where the address is that of the function itself.',
        'monthly-cases',
      ),
    ),
    qualifier: Type.Optional(field(Name, 'Version', 'Or alias, of AWS Lambda.', 'live')),
    region: Type.Optional(field(Type.Enum([...regions]), 'Region', 'Of AWS Lambda.', 'EU_WEST_1')),
    headerName: Type.Optional(
      field(
        Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
        'Header',
        'That carries the token to an address; Authorization, as a bearer, when absent.',
        'x-functions-key',
      ),
    ),
  },
  {
    authToken: secret('Token', 'For an address.', 'a-token-of-the-function', 4000),
    accessKey: secret('Access key', 'Its id, for AWS Lambda.', 'AKIAIOSFODNN7EXAMPLE'),
    secretKey: secret('Secret key', 'What belongs to the access key.', 'the secret key'),
  },
)

const what = {
  payload: Type.Optional(
    field(
      Type.Object({}, { maxProperties: 200 }),
      'Payload',
      'What the function is called with, besides where it goes on.',
      {
        country: 'KE',
      },
    ),
  ),
}

/** AWS Lambda, or any function with an HTTP address, that returns rows. */
export const functionCall = variant(connectorTypes.functionCall, {
  given: { functionSource: functionAccess.given, ...what },
  answered: { functionSource: functionAccess.answered, ...what },
})
