/**
 * `npm run compose-smoke` tests docker-compose.yml with the container engine of this machine: it builds and starts the
 * stack, runs the demo, checks for root processes, open ports, readable secrets and development packages, kills the
 * worker and each database, restarts the stack, and removes everything that it created.
 */
import { deepStrictEqual } from 'node:assert'
import { run } from './run-command.ts'
import { assertContainersConfined } from './confinement.ts'
import { readAdminPassword, runDemo } from './run-demo.ts'
import { assertNetworkExposure } from './network-exposure.ts'
import { crashContainer, readRestartCounts, waitUntilHealthy } from './container-health.ts'
import { assertProductionFilesOnly } from './image-contents.ts'
import { assertNoSecretLeaks, readSecrets } from './secret-leaks.ts'
import { databases, describeStack, images, type Stack } from './compose-project.ts'
import { assertSignInServed } from './sign-in-pages.ts'
import { runStep } from './run-step.ts'

const isEngineAvailable = (): Promise<boolean> =>
  Promise.all([
    run('docker', ['version', '--format', '{{.Server.Version}}'], { seconds: 20 }),
    run('docker', ['compose', 'version'], { seconds: 20 }),
  ]).then(
    () => true,
    () => false,
  )

const runSmokeTest = async (stack: Stack): Promise<void> => {
  const up = (): Promise<string> => stack.compose(['up', '--detach', '--wait', '--wait-timeout', '300'], 600)

  await runStep('the images build', () => stack.compose(['build'], 1200))
  await runStep('the image of identity contains only production files', () =>
    assertProductionFilesOnly(stack, 'identity'),
  )
  await runStep('the image of pipeline contains only production files', () =>
    assertProductionFilesOnly(stack, 'pipeline'),
  )
  await runStep('a new stack becomes healthy', () => up().then(() => waitUntilHealthy(stack)))
  const password = await runStep('identity-setup printed the administrator', () => readAdminPassword(stack))
  await runStep('the demo loads 20,000 rows', () => runDemo(stack, password))

  await runStep('sign-in pages and the OpenID Provider respond', () => assertSignInServed(stack))

  await runStep('containers have no root, no capabilities and no writable file system', () =>
    assertContainersConfined(stack),
  )
  await runStep('two ports are published, and each service reaches only its databases', () =>
    assertNetworkExposure(stack),
  )
  await runStep('no secret is readable outside its volume', () => assertNoSecretLeaks(stack, password))

  await runStep('a crashed worker is restarted', () =>
    crashContainer(stack, 'pipeline-worker').then(() => waitUntilHealthy(stack)),
  )
  for (const database of databases) {
    await runStep(`a crashed ${database} is restarted, and no service ends`, async () => {
      const before = await readRestartCounts(stack)
      await crashContainer(stack, database)
      await waitUntilHealthy(stack)
      deepStrictEqual(await readRestartCounts(stack), before)
    })
  }
  await runStep('the demo loads again', () => runDemo(stack, password))

  const secrets = await readSecrets(stack)
  await runStep('the stack is healthy after a restart', async () => {
    await stack.compose(['down'])
    await up()
    await waitUntilHealthy(stack)
  })
  await runStep('secrets and administrator are unchanged after the restart', async () => {
    deepStrictEqual(await readSecrets(stack), secrets)
    await runDemo(stack, password)
  })
}

const removeStack = async (stack: Stack): Promise<void> => {
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

if (await isEngineAvailable()) {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
  const stack = await describeStack()
  await runSmokeTest(await describeStack(interruption.signal)).catch((error: unknown) => printFailure(stack, error))
  await runStep('everything is removed', () => removeStack(stack))
} else {
  console.log('The compose smoke test is skipped: no container engine with compose is available.')
}
