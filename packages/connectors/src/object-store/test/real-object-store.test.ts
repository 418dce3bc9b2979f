import { tmpdir } from 'node:os'
import { expect } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { outgoingAllowed } from '@sluice/http-client'
import type { ReadRequest } from '../../connector.ts'
import { never, objectStores } from './load-from-store.ts'

/** Looks at a real bucket or container, with what the environment says of it: docs/object-stores.md. Changes nothing there. */
const given = (prefix: string, names: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, variable]) => {
      const value = process.env[`SLUICE_${prefix}_${variable}`]
      return value ? [[name, value]] : []
    }),
  )

const bucket = given('S3', { bucket: 'BUCKET', endpoint: 'ENDPOINT', region: 'REGION' })
const container = given('AZURE', { account: 'ACCOUNT', container: 'CONTAINER', endpoint: 'ENDPOINT' })
const settings = (prefix: string, source: object) => ({
  ...source,
  key: process.env[`SLUICE_${prefix}_KEY`] ?? '',
  delimiter: process.env[`SLUICE_${prefix}_DELIMITER`] ?? 'COMMA',
})

const readings: ReadRequest[] = [
  {
    type: 'OBJECT_STORAGE_BUCKET',
    settings: settings('S3', { objectStoreSource: bucket }),
    secrets: given('S3', { accessKey: 'ACCESS_KEY', secretKey: 'SECRET_KEY' }),
    input: {},
  },
  {
    type: 'CLOUD_BLOB_STORAGE',
    settings: settings('AZURE', { blobStoreSource: container }),
    secrets: given('AZURE', { accountKey: 'ACCOUNT_KEY', sasToken: 'SAS_TOKEN' }),
    input: {},
  },
]

for (const reading of readings) {
  const { key } = reading.settings as { key: string }
  const prefix = reading.type === 'OBJECT_STORAGE_BUCKET' ? 'S3' : 'AZURE'
  const missing = key === '' ? `set SLUICE_${prefix}_KEY and the other variables of this account` : undefined
  itUnless(missing)(`a real account of type ${reading.type} passes the connection test and previews rows`, async () => {
    const kinds = objectStores({ filesDirectory: tmpdir(), allowed: outgoingAllowed().fallback! })
    const kind = kinds[reading.type as keyof typeof kinds]
    await kind.testConnection!(reading, never)
    const { columns, rows } = await kind.preview!(reading, 10, never)
    expect([columns.length, rows.length]).not.toContain(0)
  })
}
