/**
 * Proves docker-compose.yml on a real engine, beside whatever else runs there: builds, starts, runs the demo, looks for
 * what must not be (root, open ports, readable secrets, development packages), crashes the worker and each database,
 * stops and starts again, and removes everything it made.
 *
 *     npm run compose-smoke
 */
import { deepStrictEqual } from 'node:assert'
import { run } from './run-command.ts'
import { assertContainersConfined } from './confinement.ts'
import { adminPassword, runDemo } from './run-demo.ts'
import { assertNetworkExposure } from './network-exposure.ts'
import { crash, restarts, waitUntilHealthy } from './container-health.ts'
import { assertProductionFilesOnly } from './image-contents.ts'
import { assertNoSecretLeaks, readSecrets } from './secret-leaks.ts'
import { databases, describeStack, images, type Stack } from './compose-project.ts'
import { assertSignInServed } from './sign-in.ts'
import { runStep } from './run-step.ts'

const engineAnswers = (): Promise<boolean> =>
  Promise.all([
    run('docker', ['version', '--format', '{{.Server.Version}}'], { seconds: 20 }),
    run('docker', ['compose', 'version'], { seconds: 20 }),
  ]).then(
    () => true,
    () => false,
  )

const story = async (stack: Stack): Promise<void> => {
  const up = (): Promise<string> => stack.compose(['up', '--detach', '--wait', '--wait-timeout', '300'], 600)

  await runStep('the images build', () => stack.compose(['build'], 1200))
  await runStep('identity holds nothing but what it runs on', () => assertProductionFilesOnly(stack, 'identity'))
  await runStep('pipeline holds nothing but what it runs on', () => assertProductionFilesOnly(stack, 'pipeline'))
  await runStep('an empty machine becomes a healthy stack', () => up().then(() => waitUntilHealthy(stack)))
  const password = await runStep('identity-setup printed the administrator', () => adminPassword(stack))
  await runStep('the demo loads 20,000 rows', () => runDemo(stack, password))

  await runStep('pages and the OpenID Provider answer', () => assertSignInServed(stack))

  await runStep('no root, no capabilities, nothing to write to', () => assertContainersConfined(stack))
  await runStep('two published ports, and databases out of reach', () => assertNetworkExposure(stack))
  await runStep('no secret is readable outside its volume', () => assertNoSecretLeaks(stack, password))

  await runStep('a crashed worker comes back', () => crash(stack, 'pipeline-worker').then(() => waitUntilHealthy(stack)))
  for (const database of databases) {
    await runStep(`a crashed ${database} comes back, and no service falls with it`, async () => {
      const before = await restarts(stack)
      await crash(stack, database)
      await waitUntilHealthy(stack)
      deepStrictEqual(await restarts(stack), before)
    })
  }
  await runStep('the demo loads again', () => runDemo(stack, password))

  const secrets = await readSecrets(stack)
  await runStep('stopped and started again, it is healthy', async () => {
    await stack.compose(['down'])
    await up()
    await waitUntilHealthy(stack)
  })
  await runStep('with the same secrets and the same administrator', async () => {
    deepStrictEqual(await readSecrets(stack), secrets)
    await runDemo(stack, password)
  })
}

const remove = async (stack: Stack): Promise<void> => {
  await stack.compose(['down', '--volumes', '--remove-orphans', '--timeout', '10'])
  await stack.docker(['image', 'rm', '--force', ...images.map(stack.image)])
}

const printFailure = async (stack: Stack, error: unknown): Promise<void> => {
  process.exitCode = 1
  for (const args of [
    ['ps', '--all'],
    ['logs', '--no-color', '--tail', '40'],
  ]) {
    console.error(await stack.compose(args).catch(String))
  }
  console.error(error instanceof Error ? error.message : error)
}

if (await engineAnswers()) {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
  const stack = await describeStack()
  await story(await describeStack(interruption.signal)).catch((error: unknown) => printFailure(stack, error))
  await runStep('everything is removed', () => remove(stack))
} else {
  console.log('No container engine with compose answers here, so the compose smoke test is skipped.')
}
