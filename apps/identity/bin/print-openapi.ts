import { openapi } from '@sluice/http-server'
import { operations } from '../src/api/operations.ts'
import { info } from '../src/openapi-info.ts'

/** Prints the OpenAPI document. */
process.stdout.write(`${JSON.stringify(openapi(operations, info), null, 2)}\n`)
