import { join } from 'node:path'
import { root } from '../paths.ts'
import { run } from './run-command.ts'
import type { Stack } from './compose-project.ts'

/** Returns the first administrator's password, which identity-setup printed when it created the account. */
export const readAdminPassword = async (stack: Stack): Promise<string> => {
  const log = await stack.compose(['logs', '--no-color', '--no-log-prefix', 'identity-setup'])
  const passwords = log
    .split('\n')
    .filter((line) => line.includes('"password"'))
    .map((line): { password: string } => JSON.parse(line.slice(line.indexOf('{'))))
    .map(({ password }) => password)
  if (passwords.length !== 1) throw new Error(`identity-setup printed ${passwords.length} passwords:\n${log}`)
  return passwords[0] ?? ''
}

/** Runs the demo against the published ports: sign in, upload, load, read. Throws with its output if it fails. */
export const runDemo = async (stack: Stack, password: string): Promise<void> => {
  const env = {
    PATH: process.env['PATH'],
    IDENTITY_URL: stack.identityUrl,
    PIPELINE_URL: stack.pipelineUrl,
    SLUICE_ADMIN_USERNAME: 'admin',
    SLUICE_ADMIN_PASSWORD: password,
  }
  await run(process.execPath, [join(root, 'infra/demo/demo.ts'), '--rows', '20000'], { env, seconds: 180 })
}
