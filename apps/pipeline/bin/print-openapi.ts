import { openapi } from '@sluice/http-server'
import { operations } from '../src/api/operations.ts'
import { info } from '../src/openapi-info.ts'

process.stdout.write(`${JSON.stringify(openapi(operations, info), null, 2)}\n`)
