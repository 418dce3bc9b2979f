import { relative } from 'node:path'
import pc from 'picocolors'
import type { Settings } from './settings.ts'

/** The first administrator. The password is set only if this start created it. */
export type Admin = { username: string; password?: string }

/** Returns the text about a started installation: addresses, how to sign in, and the next command to try. */
export const formatSummary = (settings: Settings, admin: Admin, passwordIsKept: boolean, seconds: number): string => {
  const { identityPublicUrl: identity, pipelinePublicUrl: pipeline } = settings
  const folder = relative(process.cwd(), settings.state) || '.'
  const lines = [
    `${pc.green('●')} ${pc.bold('Sluice is ready')} ${pc.dim(`(${seconds.toFixed(1)} s)`)}`,
    '',
    formatRow('Identity', `${pc.cyan(identity)}   ${pc.dim('docs')} ${pc.cyan(`${identity}/docs`)}`),
    formatRow('Pipeline', `${pc.cyan(pipeline)}   ${pc.dim('docs')} ${pc.cyan(`${pipeline}/docs`)}`),
    formatRow('Sign in', describeSignIn(admin, passwordIsKept, folder)),
    formatRow('Data', `${folder}/ ${pc.dim('(postgres/ and files/; the logs are in logs/)')}`),
    '',
    formatRow(
      'Next',
      `${pc.bold('npm run demo')} ${pc.dim('in another terminal loads 200,000 rows; docs/tour.md shows the same by hand')}`,
    ),
    formatRow('', pc.dim('Ctrl-C stops everything; the data stays.')),
  ]
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n`
}

const formatRow = (label: string, text: string): string => `${pc.dim(label.padEnd(9))} ${text}`

const describeSignIn = ({ username, password }: Admin, passwordIsKept: boolean, folder: string): string => {
  const name = pc.bold(username)
  if (password)
    return `${name}, password ${pc.bold(pc.yellow(password))} ${pc.dim(`(shown this once; kept in ${folder}/secrets.json)`)}`
  if (passwordIsKept)
    return `${name} ${pc.dim(`with the first start's password, in ${folder}/secrets.json, or what you changed it to`)}`
  return `${name} ${pc.dim('with the SLUICE_ADMIN_PASSWORD of the first start, or what you changed it to')}`
}
