import { ok } from 'node:assert'
import { images, type Stack } from './compose-project.ts'

const volumes = ['identity', 'pipeline', 'warehouse-setup', 'identity-db', 'pipeline-db', 'warehouse-db']

/** Returns the text of all secret files by path. */
export const readSecrets = async (stack: Stack): Promise<Record<string, string>> => {
  const mounts = volumes.map((reader) => `--volume=${stack.volume(`${reader}-secrets`)}:/secrets/${reader}:ro`)
  const script = `const { globSync, readFileSync } = require('fs')
    const paths = globSync('/secrets/*/*').filter((path) => !path.endsWith('/made.json'))
    console.log(JSON.stringify(Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')]))))`
  const group = ['--group-add=999', '--network=none', '--read-only']
  return JSON.parse(
    await stack.docker(['run', '--rm', ...group, ...mounts, stack.image('secrets'), 'node', '--eval', script]),
  )
}

/** Throws if a secret is in the configuration, the containers, the images or the logs. */
export const assertNoSecretLeaks = async (stack: Stack, adminPassword: string): Promise<void> => {
  const files = await readSecrets(stack)
  const texts = Object.values(files)
  ok(texts.length >= 13 && texts.every((text) => text.length >= 32), 'a secret is missing in the volumes')
  const inUrls = texts.filter((text) => URL.canParse(text)).map((text) => new URL(text).password)
  const secrets = [
    ...texts,
    ...inUrls.filter((password) => password !== ''),
    ...texts.map((text) => text.replace(/^k\d+:/, '')),
  ]

  const containers = await stack.containers()
  const inspected = await stack.docker([
    'inspect',
    ...[...containers.values()].map(({ Id }) => Id),
    ...images.map(stack.image),
  ])
  const histories = await Promise.all(images.map((name) => stack.docker(['history', '--no-trunc', stack.image(name)])))
  const readableTexts: Record<string, string> = {
    'docker compose config': await stack.compose(['config']),
    'docker inspect': inspected,
    'docker history': histories.join('\n'),
  }
  for (const service of containers.keys())
    readableTexts[`the log of ${service}`] = await stack.compose(['logs', '--no-color', service])

  for (const [place, text] of Object.entries(readableTexts)) {
    ok(!secrets.some((secret) => text.includes(secret)), `a secret can be read in ${place}`)
    ok(
      place === 'the log of identity-setup' || !text.includes(adminPassword),
      `the administrator's password is in ${place}`,
    )
  }
}
