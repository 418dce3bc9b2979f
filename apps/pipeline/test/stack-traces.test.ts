import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { freePort } from '@sluice/testing/free-port'
import { startProgram } from './start-program.ts'

it('a stack trace of a started program names the file and the line of its source', async () => {
  const lines = readFileSync(join(import.meta.dirname, '../bin/serve.ts'), 'utf8').split('\n')
  const failing = lines.findIndex((line) => line.includes('await mkdir(')) + 1
  const program = startProgram('pipeline/bin/serve.ts', {
    PIPELINE_DATABASE_URL: 'postgres://localhost/unused',
    WAREHOUSE_DATABASE_URL: 'postgres://localhost/unused',
    SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    SERVICE_SECRET: 'x'.repeat(24),
    FILES_DIRECTORY: join(import.meta.filename, 'a file instead of a folder'),
    PIPELINE_PORT: String(await freePort()),
  })
  expect(await program.ended).toBe(1)
  expect(program.output()).toContain(`apps/pipeline/bin/serve.ts:${failing}:`)
  expect(program.output()).not.toMatch(/\.js:\d+/)
})
