import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const program = '/usr/sbin/apache2'
const modules = '/usr/lib/apache2/modules'

/** Is Apache installed, with mod_auth_openidc? */
export const hasApache = existsSync(program) && existsSync(join(modules, 'mod_auth_openidc.so'))

/** Forwards connections from a fixed port to the port that `to` returns. */
export async function forward(port: number, to: () => number): Promise<Server> {
  const server = createServer((socket) => {
    const other = connect(to(), '127.0.0.1')
    socket.pipe(other).pipe(socket)
    for (const end of [socket, other]) end.on('error', () => socket.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

interface Application {
  port: number
  issuer: string
  clientId: string
  secret: string
}

/** The settings that docs/sso-for-applications.md recommends. */
const settings = ({ port, issuer, clientId, secret }: Application) => `
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${clientId}
OIDCClientSecret ${secret}
OIDCRedirectURI http://127.0.0.1:${port}/protected/callback
OIDCCryptoPassphrase ${randomBytes(24).toString('hex')}
OIDCScope "openid profile email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim preferred_username
OIDCUserInfoRefreshInterval 1
<Location /protected>
  AuthType openid-connect
  Require valid-user
</Location>`

const loaded = [
  'mpm_event',
  'authn_core',
  'authz_core',
  'authz_user',
  'authz_host',
  'mime',
  'dir',
  'headers',
  'auth_openidc',
]

/** Starts an Apache with one protected page. The response header X-Signed-In contains the username. */
export async function startApache(application: Application): Promise<AsyncDisposable & { log(): Promise<string> }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-apache-'))
  await mkdir(join(folder, 'pages/protected'), { recursive: true, mode: 0o755 })
  await writeFile(join(folder, 'pages/protected/index.html'), 'the protected page')
  const log = join(folder, 'error.log')
  await writeFile(
    join(folder, 'apache.conf'),
    `${loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
ServerName 127.0.0.1
Listen 127.0.0.1:${application.port}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
ErrorLog ${log}
LogLevel warn
TypesConfig /etc/mime.types
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
DocumentRoot ${folder}/pages
DirectoryIndex index.html
<Directory ${folder}/pages>
  Require all granted
</Directory>
Header always set X-Signed-In "expr=%{REMOTE_USER}"
${settings(application)}
`,
  )
  // The workers run as another user, which must be able to read the pages.
  if (process.getuid?.() === 0) await chmod(folder, 0o755)
  const child = spawn(program, ['-f', join(folder, 'apache.conf'), '-DFOREGROUND'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  const ended = once(child, 'close')
  const readLog = () => readFile(log, 'utf8').catch(() => '')
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`http://127.0.0.1:${application.port}/`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer) break
    if (child.exitCode !== null || tries > 2_400) throw new Error(`Apache did not start: ${output}${await readLog()}`)
    await sleep(50)
  }
  return {
    log: readLog,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}
