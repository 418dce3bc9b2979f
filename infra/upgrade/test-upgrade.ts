import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pc from 'picocolors'
import { root } from '../paths.ts'
import { assertSeedKept, seedInstallation } from './seeded-installation.ts'
import { startCheckout } from './start-checkout.ts'
import { startTokenServer } from './token-protected-function.ts'

/**
 * `npm run test:upgrade -- <commit>` starts Sluice at a commit, creates data (tables, a view, secrets, a schedule, an
 * API token, a check), kills all processes during a load, and starts this checkout with the same data. The exit code is
 * 0 if everything still works.
 */
const [commit = 'HEAD'] = process.argv.slice(2)
const printStep = (line: string): void => console.log(`${pc.green('✓')} ${line}`)

const folder = await mkdtemp(join(tmpdir(), 'sluice-upgrade-'))
const old = join(folder, 'old')
execFileSync('git', ['worktree', 'add', '--detach', '--quiet', old, commit], { cwd: root, stdio: 'inherit' })
try {
  await using server = await startTokenServer()
  const settings = { state: join(folder, 'state'), allowed: '127.0.0.1' }
  const before = await startCheckout(old, settings)
  printStep(`started ${commit}`)
  const seeded = await seedInstallation(before, server)
  printStep('loaded tables, created a view, a check, a schedule, secrets and an API token')
  await before.kill()
  printStep('killed all processes during a load')

  const after = await startCheckout(root, settings)
  try {
    printStep('started this checkout with the same data')
    for await (const result of assertSeedKept(after, server, seeded)) printStep(result)
  } finally {
    await after.stop()
  }
} finally {
  execFileSync('git', ['worktree', 'remove', '--force', old], { cwd: root, stdio: 'inherit' })
  await rm(folder, { recursive: true, force: true })
}
process.exit()
