import { openapi } from '@sluice/http-server'
import { servedOperations } from '../src/api/operations.ts'
import { identityServiceInfo } from '../src/openapi-info.ts'

/** Prints the OpenAPI document. */
process.stdout.write(`${JSON.stringify(openapi(servedOperations, identityServiceInfo), null, 2)}\n`)
