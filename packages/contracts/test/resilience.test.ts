import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { identityOperations, serviceClient, type ServiceClientOptions } from '../src/index.ts'
import { after, hang, json, problem, reset, scriptedServer } from './scripted-server.ts'

const { lookups, auth } = identityOperations
const uid = '0198c1a0-0000-7000-8000-000000000001'
const body = { ids: [uid] }
const found = json(200, [])
const refresh = { body: { refreshToken: 'x'.repeat(30) } }

const clientOf = (baseUrl: string, options: Partial<ServiceClientOptions> = {}) =>
  serviceClient({ baseUrl, name: 'identity', token: () => undefined, timeout: 500, ...options })

it.each([
  ['503', problem(503, 'unavailable')],
  ['a reset', reset],
  ['silence', hang],
] as const)('asks for a look-up again after %s', async (_what, trouble) => {
  await using server = await scriptedServer(trouble, trouble, found)
  expect(await clientOf(server.url).call(lookups.users, { body })).toEqual([])
  expect(server.asked).toHaveLength(3)
})

it('gives up after the last try', async () => {
  await using server = await scriptedServer(reset)
  await expect(clientOf(server.url).call(lookups.users, { body })).rejects.toMatchObject({ reason: 'unreachable' })
  expect(server.asked).toHaveLength(3)
})

it('never repeats a write', async () => {
  await using server = await scriptedServer(problem(503, 'unavailable'), reset, hang)
  const client = clientOf(server.url)
  for (const reason of ['overloaded', 'unreachable', 'timed-out'])
    await expect(client.call(auth.refresh, refresh)).rejects.toMatchObject({ reason })
  expect(server.asked).toHaveLength(3)
})

it('does not repeat what was refused', async () => {
  await using server = await scriptedServer(problem(500, 'internal'))
  await expect(clientOf(server.url).call(lookups.users, { body })).rejects.toMatchObject({ status: 500 })
  expect(server.asked).toHaveLength(1)
})

it('waits as long as the service asks, and does not ask again where that is too long', async () => {
  await using server = await scriptedServer(problem(503, 'unavailable', { 'retry-after': '1' }), found)
  const client = clientOf(server.url, { patience: 1_500 })
  const start = performance.now()
  await client.call(lookups.users, { body })
  expect(performance.now() - start).toBeGreaterThanOrEqual(995)

  server.now(problem(503, 'unavailable', { 'retry-after': '60' }))
  await expect(client.call(lookups.users, { body })).rejects.toMatchObject({ retryAfter: 60_000 })
  expect(server.asked).toHaveLength(3)
})

it('does not hold up a caller that gives up between two tries', async () => {
  await using server = await scriptedServer(problem(503, 'unavailable', { 'retry-after': '60' }))
  const start = performance.now()
  const call = clientOf(server.url, { patience: 120_000 }).call(lookups.users, {
    body,
    signal: AbortSignal.timeout(150),
  })
  await expect(call).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(performance.now() - start).toBeLessThan(30_000)
})

it('leaves a dead service alone, tries it now and then, and comes back', async () => {
  await using server = await scriptedServer(hang)
  // Long enough for the calls below on a busy machine.
  const open = 1_500
  const changes: string[] = []
  const client = clientOf(server.url, {
    retries: 0,
    failuresToOpen: 3,
    open,
    onCircuit: (circuit) => changes.push(circuit),
  })
  const ask = () => client.call(lookups.users, { body })

  for (let time = 0; time < 3; time++) await expect(ask()).rejects.toMatchObject({ reason: 'timed-out' })
  expect(client.circuit()).toBe('open')

  for (let time = 0; time < 50; time++) await expect(ask()).rejects.toMatchObject({ reason: 'circuit-open' })
  expect(server.asked).toHaveLength(3)

  await pause(open + 20)
  const trial = ask()
  await expect(ask()).rejects.toMatchObject({ reason: 'circuit-open' })
  await expect(trial).rejects.toMatchObject({ reason: 'timed-out' })

  server.now(found)
  // The second time it stays open twice as long.
  await pause(open + 20)
  await expect(ask()).rejects.toMatchObject({ reason: 'circuit-open' })
  await pause(open)
  expect(await ask()).toEqual([])
  expect(changes).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
})

it('keeps the circuit shut for a service that answers, whatever it answers', async () => {
  await using server = await scriptedServer(problem(404, 'not-found'))
  const client = clientOf(server.url, { retries: 0, failuresToOpen: 2, timeout: 5_000 })
  const ask = () => client.call(lookups.users, { body })
  for (let time = 0; time < 4; time++) await expect(ask()).rejects.toMatchObject({ status: 404 })
  server.now(reset, problem(404, 'not-found'), reset, after(5, found))
  await expect(ask()).rejects.toMatchObject({ reason: 'unreachable' })
  await expect(ask()).rejects.toMatchObject({ status: 404 })
  await expect(ask()).rejects.toMatchObject({ reason: 'unreachable' })
  expect(await ask()).toEqual([])
})

it('does not take a caller that gave up for a sign of life', async () => {
  await using server = await scriptedServer(reset, hang)
  const client = clientOf(server.url, { retries: 0, failuresToOpen: 1, open: 50, timeout: 5_000 })
  await expect(client.call(lookups.users, { body })).rejects.toMatchObject({ reason: 'unreachable' })
  await pause(60)
  const signal = AbortSignal.timeout(30)
  await expect(client.call(lookups.users, { body, signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  await pause(5)
  expect(client.circuit()).toBe('open')
})
