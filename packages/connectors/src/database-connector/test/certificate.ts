import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a self-signed certificate for an unused name. Undefined without openssl. */
export function selfSigned(): { key: string; cert: string } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-certificate-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const how = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=other.example']
  const { status } = spawnSync('openssl', [...how, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const made = status === 0 ? { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') } : undefined
  rmSync(folder, { recursive: true })
  return made
}
