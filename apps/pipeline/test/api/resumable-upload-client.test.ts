import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { serviceClient, type TokenSource, upload } from '@sluice/client'
import { dataPipelines } from '@sluice/client/pipeline'
import { type ResumableOptions, resumableTransport } from '@sluice/client/resumable'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { startGate, type Gate } from './interruptible-proxy.ts'

/** 8 MB, more than what connections and streams buffer. */
const content = `day,cases\n${'2026-01-31,12\n'.repeat(570_000)}`
const digest = createHash('sha256').update(content).digest('hex')
const retryDelays = [50, 100, 200, 400, 800]

let folder: string
let blob: Blob
let service: Service
let gate: Gate
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-resumable-'))
  await writeFile(join(folder, 'days.csv'), content)
  blob = await openAsBlob(join(folder, 'days.csv'))
  service = await startService({ uploadLimit: 10_000_000 })
  gate = await startGate(Number(new URL(service.url).port))
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(async () => {
  await gate?.shut()
  await service?.stop()
  await rm(folder, { recursive: true })
})
afterEach(async () => {
  await gate.open()
  await service.databaseGate.open()
})

const newPipeline = async (): Promise<string> =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)).body.id
const uploadsTo = async (pipeline: string): Promise<Record<string, any>[]> =>
  (await owner.get(`/data-pipelines/${pipeline}/uploads`).expect(200)).body

interface Sending extends ResumableOptions {
  token?: string | TokenSource
  body?: Blob
  signal?: AbortSignal
  attempts?: number
}

/** Uploads through the gate, as a program with the client does. */
function send(pipeline: string, { token = person.token, body = blob, signal, attempts = 1, ...options }: Sending = {}) {
  const client = serviceClient({ baseUrl: `http://127.0.0.1:${gate.port}`, token })
  const transport = resumableTransport(body, { retryDelays, ...options })
  return upload(client, dataPipelines.upload, {
    params: { uid: pipeline },
    query: { name: 'days.csv' },
    body,
    transport,
    attempts,
    ...(signal && { signal }),
  })
}

/** A storage that another process finds again. */
function createStorage() {
  const entries = new Map<string, string>()
  return {
    entries,
    getItem: (key: string) => entries.get(key) ?? null,
    setItem: async (key: string, value: string) => void entries.set(key, value),
    removeItem: (key: string) => entries.delete(key),
  }
}

/** Ends an upload in the middle, as if its process was killed. */
async function sendSome(pipeline: string, storage: ReturnType<typeof createStorage>): Promise<void> {
  const killed = new AbortController()
  const reason = new Error('killed')
  const onProgress = (sent: number) => sent > 4_000_000 && killed.abort(reason)
  await expect(send(pipeline, { storage, key: 'days', signal: killed.signal, onProgress })).rejects.toBe(reason)
}

it('continues in the middle of the file after the connection was cut, and returns what a plain upload returns', async () => {
  const pipeline = await newPipeline()
  const progress: number[] = []
  let isCut = false
  const file = await send(pipeline, {
    onProgress(sent) {
      progress.push(sent)
      if (isCut || sent < 5_000_000) return
      isCut = true
      void gate.shut().then(() => gate.open())
    },
  })
  expect(file).toEqual({
    name: 'days.csv',
    size: content.length,
    sha256: digest,
    uploaded: expect.any(String),
    uploadedBy: person.username,
  })
  expect(isCut).toBe(true)
  const restart = progress.findIndex((sent, at) => sent < (progress[at - 1] ?? 0))
  expect(progress[restart]).toBeGreaterThan(1_000_000)
  expect(progress.at(-1)).toBe(content.length)
  expect(await uploadsTo(pipeline)).toHaveLength(1)
})

it('continues after the database of the service was away, instead of starting anew', async () => {
  const pipeline = await newPipeline()
  let outage: Promise<void> | undefined
  const breakDown = async () => {
    await gate.shut()
    const isReleased = async () => {
      const { db } = service.stack
      return (
        (await db.selectFrom('resumable_uploads').select('uid').where('lease', 'is not', null).execute()).length === 0
      )
    }
    await until(isReleased)
    await service.databaseGate.shut()
    await gate.open()
    await sleep(500)
    await service.databaseGate.open()
  }
  const file = await send(pipeline, { onProgress: (sent) => void (sent > 4_000_000 && (outage ??= breakDown())) })
  await outage
  expect([outage, file.sha256]).toEqual([expect.any(Promise), digest])
  expect(await uploadsTo(pipeline)).toHaveLength(1)
})

it('continues the upload of an earlier process, with a renewed token', async () => {
  const pipeline = await newPipeline()
  const storage = createStorage()
  await sendSome(pipeline, storage)
  const [unfinished] = await uploadsTo(pipeline)
  expect([...storage.entries.values()]).toEqual([expect.stringContaining(unfinished!['id'])])

  const progress: number[] = []
  const file = await send(pipeline, {
    storage,
    key: 'days',
    token: (rejected) => (rejected ? person.token : 'an.old.token'),
    onProgress: (sent) => progress.push(sent),
  })
  expect(file.sha256).toBe(digest)
  expect(progress[0]).toBeGreaterThan(1_000_000)
  expect(await uploadsTo(pipeline)).toMatchObject([{ id: unfinished!['id'], file }])
  expect(storage.entries.size).toBe(0)
})

it('starts anew if the stored upload was deleted, or the storage names another address', async () => {
  const pipeline = await newPipeline()
  const storage = createStorage()
  await sendSome(pipeline, storage)
  const [[entry, address] = []] = storage.entries
  const [unfinished] = await uploadsTo(pipeline)
  await owner
    .delete(`/data-pipelines/${pipeline}/uploads/${unfinished!['id']}`)
    .set('Tus-Resumable', '1.0.0')
    .expect(204)
  expect((await send(pipeline, { storage, key: 'days' })).sha256).toBe(digest)
  for (const other of ['https://evil.example.org/x', `${address}/../../x`, 'x']) {
    storage.entries.set(entry!, other)
    expect((await send(pipeline, { storage, key: 'days' })).sha256).toBe(digest)
  }
})

it('rejects with the problem of the service, and forgets an upload that the service refuses', async () => {
  const pipeline = await newPipeline()
  const storage = createStorage()
  const body = new Blob(['%PDF-1.7\n'])
  await expect(send(pipeline, { body, storage, key: 'days' })).rejects.toMatchObject({
    name: 'RemoteProblem',
    code: 'source-unreadable',
    message: expect.stringMatching(/is a PDF document/),
  })
  expect(storage.entries.size).toBe(0)

  await sendSome(pipeline, storage)
  await expect(send(pipeline, { storage, key: 'days', token: 'an.old.token' })).rejects.toMatchObject({
    status: 401,
    code: 'unauthenticated',
  })
  expect(storage.entries.size).toBe(1)
})

it('rejects as unreachable if the connection does not come back', async () => {
  const pipeline = await newPipeline()
  await gate.shut()
  await expect(send(pipeline, { retryDelays: [10, 10] })).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    reason: 'unreachable',
  })
})

it('refuses another operation, whose uploads cannot be continued', async () => {
  const transport = resumableTransport(blob)
  await expect(transport(new URL(`${service.url}/api/v1/public-datasets/x/file`), {})).rejects.toThrow(
    'Only uploads to data pipelines can be continued: use dataPipelines.upload.',
  )
})
