import { ServiceUnavailable } from '@sluice/client'
import { ajvWith, type OperationSignature } from '@sluice/contracts'

/**
 * A service can be newer than its caller: fields that the contract does not contain are removed, and all required fields must exist.
 */
const ajv = ajvWith({ removeAdditional: true })

/** Returns the body of a response if it fits the contract of the operation. Throws `ServiceUnavailable` with `malformed-answer`. */
export function checkResponse<Result>(
  { id, response }: OperationSignature<string, any, any, Result>,
  body: unknown,
): Result {
  if (!response || ajv.validate(response, body)) return body as Result
  const [{ instancePath, message } = { instancePath: '', message: '' }] = ajv.errors ?? []
  throw new ServiceUnavailable(
    'malformed-answer',
    `The response to ${id} does not match its contract: ${instancePath || '/'} ${message}.`,
  )
}
