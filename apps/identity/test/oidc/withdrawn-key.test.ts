import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { publishedKeys, tokenVerifier } from '@sluice/http'
import { goodPassword } from '../app-under-test.ts'
import { ask, startInstallation, type Installation } from '../real-processes.ts'

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
}, 300_000)
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

it('what a withdrawn key signed is refused by other services soon, and by all within 70 seconds', async () => {
  const [identity = ''] = installation.identity
  const login = { username: 'admin', password: goodPassword }
  const { accessToken } = (await ask(identity, 'POST', '/auth/login', { body: login })).body
  const pipelines = async () =>
    (await ask(installation.pipeline, 'GET', '/data-pipelines', { token: accessToken })).status
  const quick = tokenVerifier(identity, publishedKeys(identity, { every: 200 }))
  expect(await pipelines()).toBe(200)
  await quick(accessToken)

  await installation.command('identity/bin/rotate-keys.ts', '--at-once', '--forget-previous')
  const since = Date.now()
  await sleep(500)
  await expect(quick(accessToken)).rejects.toMatchObject({ status: 401 })
  while ((await pipelines()) !== 401 && Date.now() - since < 75_000) await sleep(500)
  expect(Date.now() - since).toBeLessThan(70_000)
}, 300_000)
