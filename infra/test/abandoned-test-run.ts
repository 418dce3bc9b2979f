import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '../postgres/cluster.ts'
import { startTestRun } from './test-run.ts'

/**
 * A program that behaves like a killed test run: the role `runner` starts the role `worker`, which creates a stopped
 * process, a PostgreSQL cluster and a mount, and removes none of them.
 */
const [role, parent] = process.argv.slice(2)

if (role === 'runner') {
  const { environment } = await startTestRun(parent)
  const env = { ...process.env, ...environment }
  const worker = spawn(process.execPath, [import.meta.filename, 'worker'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  worker.once('exit', () => process.exit(1))
  const [line] = await once(worker.stdout.setEncoding('utf8'), 'data')
  process.stdout.write(line)
} else {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-left-'))
  const program = ['-e', 'setInterval(() => {}, 1_000)']
  // A stopped process in a separate session, with a minimal environment.
  const env = { FILES_DIRECTORY: folder }
  const stopped = spawn(process.execPath, program, { detached: true, stdio: 'ignore', env })
  stopped.kill('SIGSTOP')
  const cluster = await startCluster({
    folder: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    password: 'left',
    port: 17_432,
    durable: false,
  })
  const disk = join(folder, 'disk')
  await mkdir(disk)
  let isMounted = true
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk], { stdio: 'ignore' })
  } catch {
    isMounted = false
  }
  const resources = { pids: [process.pid, stopped.pid], port: cluster.port, disk: isMounted ? disk : undefined }
  process.stdout.write(`${JSON.stringify(resources)}\n`)
}
setInterval(() => {}, 1_000)
