import { openapi } from '@sluice/http-server'
import { operations } from '../src/api/operations.ts'
import { pipelineServiceInfo } from '../src/openapi-info.ts'

process.stdout.write(`${JSON.stringify(openapi(operations, pipelineServiceInfo), null, 2)}\n`)
