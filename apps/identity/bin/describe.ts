import { openapi } from '@sluice/http'
import { operations } from '../src/api/operations.ts'
import { info } from '../src/info.ts'

/** Prints the OpenAPI document. */
process.stdout.write(`${JSON.stringify(openapi(operations, info), null, 2)}\n`)
